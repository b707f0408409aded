#include "process/copy.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "os/proc.h"
#include "os/syscall.h"
#include "record/recording.h"

// At most so many at a time, since each takes a processor and the pages that the
// program changes meanwhile. One that takes longer than our patience hangs, and is
// ended by the alarm.
enum { COPIES_MAX = 8, PATIENCE_S = 600 };

static int copies[COPIES_MAX]; // pids of copies not yet reaped, 0 for none

static int* free_place(void) {
    for (int i = 0; i < COPIES_MAX; i++) {
        if (copies[i] == 0) {
            return &copies[i];
        }
    }
    return NULL;
}

// Kernels before 5.9 have no close_range.
static void close_range_of(long first, long last) {
    enum { HIGHEST_TRIED = 65535 };
    if (first > last || ll_syscall(SYS_close_range, first, last, 0) != -ENOSYS) {
        return;
    }
    for (long file = first; file <= last && file <= HIGHEST_TRIED; file++) {
        ll_syscall(SYS_close, file);
    }
}

// A peer must see the end of a pipe or connection when the program closes it.
static void close_descriptors(void) {
    long recording = ll_recording_kept_descriptor();
    long proc = ll_proc_kept_descriptor();
    long lower = recording < proc ? recording : proc;
    long higher = recording < proc ? proc : recording;
    close_range_of(0, lower - 1);
    close_range_of(lower + 1, higher - 1);
    close_range_of(higher + 1, UINT_MAX);
}

// The only signal a copy reacts to, since all others are blocked.
static void set_alarm(void) {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void* restorer;
        uint64_t mask;
    } action = {.handler = SIG_DFL};
    uint64_t alarm = 1ULL << (SIGALRM - 1);
    struct itimerval timer = {.it_value.tv_sec = PATIENCE_S};
    ll_syscall(SYS_rt_sigaction, SIGALRM, &action, NULL, sizeof action.mask);
    ll_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm, NULL, sizeof alarm);
    ll_syscall(SYS_setitimer, ITIMER_REAL, &timer, NULL);
}

// A copy that fails must not leave a core file beside the program.
static void forbid_core(void) {
    struct rlimit none = {0, 0};
    ll_syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
}

static void become_copy(void) {
    close_descriptors();
    forbid_core();
    set_alarm();
    ll_recording_copy();
}

enum ll_copy ll_copy_make(void) {
    int* place = free_place();
    if (place == NULL) {
        return LL_COPY_FAILED;
    }
    // No exit signal: neither SIGCHLD nor a plain wait() of the program tells of it.
    long pid = ll_syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (pid < 0) {
        return LL_COPY_FAILED;
    }
    if (pid == 0) {
        become_copy();
        return LL_COPY_SELF;
    }
    *place = (int)pid;
    return LL_COPY_PARENT;
}

_Noreturn void ll_copy_end(void) {
    for (;;) {
        ll_syscall(SYS_exit_group, 0);
    }
}

void ll_copy_reap(void) {
    for (int i = 0; i < COPIES_MAX; i++) {
        if (copies[i] != 0 &&
            ll_syscall(SYS_wait4, copies[i], NULL, __WALL | WNOHANG, NULL) != 0) {
            copies[i] = 0;
        }
    }
}

void ll_copy_forget(void) {
    for (int i = 0; i < COPIES_MAX; i++) {
        copies[i] = 0;
    }
}
