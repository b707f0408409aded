// The functions of libc behind the names that we define. Looked up once at start, since
// dlsym is not safe in a signal handler.
#pragma once
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

// Functions that let the kernel read or write memory of the program.
#define LL_REAL_TRANSFERS                                                              \
    REAL(ssize_t, read, (int, void*, size_t))                                          \
    REAL(ssize_t, write, (int, const void*, size_t))                                   \
    REAL(ssize_t, pread, (int, void*, size_t, off_t))                                  \
    REAL(ssize_t, pwrite, (int, const void*, size_t, off_t))                           \
    REAL(ssize_t, readv, (int, const struct iovec*, int))                              \
    REAL(ssize_t, writev, (int, const struct iovec*, int))                             \
    REAL(ssize_t, recv, (int, void*, size_t, int))                                     \
    REAL(ssize_t, send, (int, const void*, size_t, int))                               \
    REAL(ssize_t, recvfrom, (int, void*, size_t, int, struct sockaddr*, socklen_t*))   \
    REAL(ssize_t, sendto,                                                              \
         (int, const void*, size_t, int, const struct sockaddr*, socklen_t))           \
    REAL(ssize_t, recvmsg, (int, struct msghdr*, int))                                 \
    REAL(ssize_t, sendmsg, (int, const struct msghdr*, int))                           \
    REAL(size_t, fread, (void*, size_t, size_t, FILE*))                                \
    REAL(size_t, fwrite, (const void*, size_t, size_t, FILE*))                         \
    REAL(ssize_t, __read_chk, (int, void*, size_t, size_t))                            \
    REAL(ssize_t, __pread_chk, (int, void*, size_t, off_t, size_t))                    \
    REAL(ssize_t, __recv_chk, (int, void*, size_t, size_t, int))                       \
    REAL(ssize_t, __recvfrom_chk,                                                      \
         (int, void*, size_t, size_t, int, struct sockaddr*, socklen_t*))              \
    REAL(size_t, __fread_chk, (void*, size_t, size_t, size_t, FILE*))

// REAL(result, name, parameters)
#define LL_REAL_FUNCTIONS                                                              \
    REAL(pid_t, fork, (void))                                                          \
    REAL(pid_t, _Fork, (void))                                                         \
    REAL(int, clone, (int (*)(void*), void*, int, void*, ...))                         \
    REAL(pid_t, waitpid, (pid_t, int*, int))                                           \
    REAL(pid_t, wait4, (pid_t, int*, int, struct rusage*))                             \
    REAL(int, waitid, (idtype_t, id_t, siginfo_t*, int))                               \
    REAL(int, execve, (const char*, char* const[], char* const[]))                     \
    REAL(int, execvpe, (const char*, char* const[], char* const[]))                    \
    REAL(int, fexecve, (int, char* const[], char* const[]))                            \
    REAL(int, execveat, (int, const char*, char* const[], char* const[], int))         \
    REAL(int, posix_spawn,                                                             \
         (pid_t*, const char*, const posix_spawn_file_actions_t*,                      \
          const posix_spawnattr_t*, char* const[], char* const[]))                     \
    REAL(int, posix_spawnp,                                                            \
         (pid_t*, const char*, const posix_spawn_file_actions_t*,                      \
          const posix_spawnattr_t*, char* const[], char* const[]))                     \
    REAL(int, pthread_create,                                                          \
         (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))                 \
    REAL(int, thrd_create, (thrd_t*, thrd_start_t, void*))                             \
    REAL(void, pthread_exit, (void*))                                                  \
    REAL(void, longjmp, (struct __jmp_buf_tag*, int))                                  \
    REAL(void, _longjmp, (struct __jmp_buf_tag*, int))                                 \
    REAL(void, siglongjmp, (struct __jmp_buf_tag*, int))                               \
    REAL(void, __longjmp_chk, (struct __jmp_buf_tag*, int))                            \
    REAL(int, sigwait, (const sigset_t*, int*))                                        \
    REAL(int, sigwaitinfo, (const sigset_t*, siginfo_t*))                              \
    REAL(int, sigtimedwait, (const sigset_t*, siginfo_t*, const struct timespec*))     \
    REAL(int, sigsuspend, (const sigset_t*))                                           \
    REAL(int, ppoll,                                                                   \
         (struct pollfd*, nfds_t, const struct timespec*, const sigset_t*))            \
    REAL(int, pselect,                                                                 \
         (int, fd_set*, fd_set*, fd_set*, const struct timespec*, const sigset_t*))    \
    REAL(int, epoll_pwait, (int, struct epoll_event*, int, int, const sigset_t*))      \
    REAL(int, epoll_pwait2,                                                            \
         (int, struct epoll_event*, int, const struct timespec*, const sigset_t*))     \
    REAL(int, signalfd, (int, const sigset_t*, int))                                   \
    REAL(int, setuid, (uid_t))                                                         \
    REAL(int, setreuid, (uid_t, uid_t))                                                \
    REAL(int, setresuid, (uid_t, uid_t, uid_t))                                        \
    REAL(int, seteuid, (uid_t))                                                        \
    REAL(int, setgid, (gid_t))                                                         \
    REAL(int, setregid, (gid_t, gid_t))                                                \
    REAL(int, setresgid, (gid_t, gid_t, gid_t))                                        \
    REAL(int, setegid, (gid_t))                                                        \
    REAL(int, unshare, (int))                                                          \
    REAL(int, setns, (int, int))                                                       \
    REAL(int, chroot, (const char*))                                                   \
    REAL(int, dlclose, (void*))                                                        \
    LL_REAL_TRANSFERS

struct ll_real {
#define REAL(result, name, parameters) result(*name) parameters;
    LL_REAL_FUNCTIONS
#undef REAL
};

// Looks them all up at the first call. A function that this libc lacks is NULL; the
// program cannot have called it by name then.
const struct ll_real* ll_real(void);
