// Signal masks and waits. The stop signal is left out of every set that the kernel
// gets, while the program sees the mask it set.
#include "entry/signal_sets.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include "arm/record.h"
#include "base/attributes.h"
#include "entry/real.h"
#include "os/syscall.h"
#include "os/world.h"
#include "process/refine.h"

// libc uses these two itself and lets nobody block them.
enum { SIGCANCEL = 32, SIGSETXID = 33 };

// The calling thread believes that it blocks the stop signal.
static LL_THREAD_LOCAL bool believes_blocked;

static uint64_t bit(int signal) {
    return 1ULL << (signal - 1);
}

static uint64_t stop_bit(void) {
    return ll_world_signal() != 0 ? bit(ll_world_signal()) : 0;
}

// While code is trapped, nobody may block the trap: the kernel would kill the process.
static uint64_t trap_bit(void) {
    return ll_refine_is_on() || ll_arm.is_poked ? bit(SIGTRAP) : 0;
}

const sigset_t* ll_signal_set_for_kernel(const sigset_t* set, sigset_t* copy) {
    if (set == NULL) {
        return NULL;
    }
    *copy = *set;
    copy->__val[0] &= ~(stop_bit() | trap_bit());
    return copy;
}

static void believe(int how, bool in_set) {
    if (how == SIG_SETMASK) {
        believes_blocked = in_set;
    } else if (in_set) {
        believes_blocked = how == SIG_BLOCK;
    }
}

// Changes the mask as the program wants it; the kernel's answer.
static long change_mask(int how, const sigset_t* set, sigset_t* old) {
    uint64_t stop = stop_bit();
    uint64_t wanted = 0;
    uint64_t previous = 0;
    bool believed = believes_blocked;
    if (set != NULL) {
        wanted = set->__val[0] & ~(bit(SIGCANCEL) | bit(SIGSETXID) | stop | trap_bit());
    }
    long result = ll_syscall(SYS_rt_sigprocmask, how, set == NULL ? NULL : &wanted,
                             &previous, sizeof previous);
    if (result == 0 && set != NULL) {
        believe(how, (set->__val[0] & stop) != 0);
    }
    if (result == 0 && old != NULL) {
        old->__val[0] = previous | (believed ? stop : 0);
    }
    return result;
}

LL_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
    return (int)-change_mask(how, set, old);
}

LL_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
    long result = change_mask(how, set, old);
    if (result == 0) {
        return 0;
    }
    errno = (int)-result;
    return -1;
}

LL_EXPORT int sigwait(const sigset_t* set, int* signal) {
    sigset_t copy;
    return ll_real()->sigwait(ll_signal_set_for_kernel(set, &copy), signal);
}

LL_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* information) {
    sigset_t copy;
    return ll_real()->sigwaitinfo(ll_signal_set_for_kernel(set, &copy), information);
}

LL_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* information,
                           const struct timespec* timeout) {
    sigset_t copy;
    return ll_real()->sigtimedwait(ll_signal_set_for_kernel(set, &copy), information,
                                   timeout);
}

LL_EXPORT int sigsuspend(const sigset_t* mask) {
    sigset_t copy;
    return ll_real()->sigsuspend(ll_signal_set_for_kernel(mask, &copy));
}

LL_EXPORT int ppoll(struct pollfd* files, nfds_t count, const struct timespec* timeout,
                    const sigset_t* mask) {
    sigset_t copy;
    return ll_real()->ppoll(files, count, timeout,
                            ll_signal_set_for_kernel(mask, &copy));
}

LL_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                      const struct timespec* timeout, const sigset_t* mask) {
    sigset_t copy;
    return ll_real()->pselect(count, read, write, except, timeout,
                              ll_signal_set_for_kernel(mask, &copy));
}

LL_EXPORT int epoll_pwait(int epoll, struct epoll_event* events, int count,
                          int timeout_ms, const sigset_t* mask) {
    sigset_t copy;
    return ll_real()->epoll_pwait(epoll, events, count, timeout_ms,
                                  ll_signal_set_for_kernel(mask, &copy));
}

LL_EXPORT int epoll_pwait2(int epoll, struct epoll_event* events, int count,
                           const struct timespec* timeout, const sigset_t* mask) {
    sigset_t copy;
    return ll_real()->epoll_pwait2(epoll, events, count, timeout,
                                   ll_signal_set_for_kernel(mask, &copy));
}

LL_EXPORT int signalfd(int file, const sigset_t* mask, int flags) {
    sigset_t copy;
    return ll_real()->signalfd(file, ll_signal_set_for_kernel(mask, &copy), flags);
}
