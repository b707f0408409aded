#include "process/copy.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "os/syscall.h"
#include "record/recording.h"

// A copy that takes longer hangs, and is ended by the alarm.
enum { COPIES_MAX = 64, PATIENCE_S = 600 };

static int copies[COPIES_MAX]; // pids of copies not yet reaped, 0 for none

static int* free_place(void) {
    for (int i = 0; i < COPIES_MAX; i++) {
        if (copies[i] == 0) {
            return &copies[i];
        }
    }
    return NULL;
}

// A peer must see the end of a pipe or connection when the program closes it.
static void close_descriptors(void) {
    int kept = ll_recording_kept_descriptor();
    if (kept < 0) {
        ll_syscall(SYS_close_range, 0, UINT_MAX, 0);
        return;
    }
    if (kept > 0) {
        ll_syscall(SYS_close_range, 0, kept - 1, 0);
    }
    ll_syscall(SYS_close_range, kept + 1, UINT_MAX, 0);
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

static void become_copy(void) {
    close_descriptors();
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
