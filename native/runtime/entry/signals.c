// Signals whose default action ends the process get a handler that looks at the heap
// first and then lets the default action happen. The program does not see it: where it
// asks, the action is the default, and what it sets replaces ours.
#include "entry/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/attributes.h"
#include "entry/arming.h"
#include "entry/last_look.h"
#include "entry/signal_sets.h"
#include "format/records.h"
#include "os/syscall.h"
#include "process/process.h"
#include "process/refine.h"

// libc's own name for sigaction, which we do not replace.
int __sigaction(int signal, const struct sigaction* action, struct sigaction* old);

static const uint8_t guarded_signals[] = {
    SIGHUP,  SIGINT,    SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,    SIGFPE,
    SIGUSR1, SIGSEGV,   SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGSTKFLT, SIGXCPU,
    SIGXFSZ, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR,  SIGSYS,
};

enum { GUARDED_COUNT = sizeof guarded_signals, FIRST_REALTIME_SIGNAL = 32 };

static bool guarding;

// libc sets this flag in every action that a program sets, and shows it when asked.
enum { RESTORER_FLAG = 0x04000000 };

// What the program asked for when it set the default action, to be told when it asks.
static LL_BULK struct sigaction seen_defaults[FIRST_REALTIME_SIGNAL];

// The program's own action for the signal that we use to stop threads.
static struct sigaction stop_signal_action;

static bool is_guarded(int signal) {
    if (!guarding) {
        return false;
    }
    for (int i = 0; i < GUARDED_COUNT; i++) {
        if (guarded_signals[i] == signal) {
            return true;
        }
    }
    return false;
}

// Lets the default action of the signal happen as soon as the handler returns, with the
// sender and the registers as they were, so that wait status and core dump are the
// same.
static void die_by(int signal, siginfo_t* information, ucontext_t* context) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    long pid = ll_syscall(SYS_getpid);
    long tid = ll_syscall(SYS_gettid);
    __sigaction(signal, &action, NULL);
    if (ll_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, information) != 0) {
        ll_syscall(SYS_tgkill, pid, tid, signal);
    }
    // sigsuspend and its like had the signal unblocked only while they waited.
    context->uc_sigmask.__val[0] &= ~(1UL << (signal - 1));
}

static void on_fatal_signal(int signal, siginfo_t* information, void* context) {
    struct ll_occasion occasion =
        ll_occasion_interrupted(LL_TRIGGER_signal, (uint32_t)signal, context);
    ll_last_look(&occasion);
    die_by(signal, information, context);
}

static ll_signal_handler on_trap;

static struct sigaction guard_action(void) {
    struct sigaction guard = {.sa_sigaction = on_fatal_signal,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigset_t all;
    memset(&all, 0xff, sizeof all);
    ll_signal_set_for_kernel(&all, &guard.sa_mask);
    return guard;
}

static bool is_default(const struct sigaction* action) {
    return action->sa_handler == SIG_DFL;
}

static bool is_guard(const struct sigaction* action) {
    return (action->sa_flags & SA_SIGINFO) != 0 &&
           (action->sa_sigaction == on_fatal_signal || action->sa_sigaction == on_trap);
}

static int change_stop_signal(const struct sigaction* wanted, struct sigaction* old) {
    struct sigaction previous = stop_signal_action;
    if (wanted != NULL) {
        stop_signal_action = *wanted;
        stop_signal_action.sa_flags |= RESTORER_FLAG;
    }
    if (old != NULL) {
        *old = previous;
    }
    return 0;
}

int ll_signal_change_action(int signal, const struct sigaction* wanted,
                            struct sigaction* old) {
    struct sigaction changed;
    struct sigaction previous;
    if (ll_world_owns_signal(signal)) {
        return change_stop_signal(wanted, old);
    }
    bool guarded = is_guarded(signal);
    if (signal == SIGTRAP && wanted != NULL && ll_refine_is_on()) {
        ll_refine_give_up();
    }
    if (signal == SIGTRAP && wanted != NULL) {
        ll_arming_give_up_traps();
    }
    if (wanted != NULL && guarded && is_default(wanted)) {
        changed = guard_action();
    } else if (wanted != NULL) {
        changed = *wanted;
        ll_signal_set_for_kernel(&wanted->sa_mask, &changed.sa_mask);
    }
    int result = __sigaction(signal, wanted == NULL ? NULL : &changed, &previous);
    if (result != 0) {
        return result;
    }
    if (guarded && is_guard(&previous)) {
        previous = seen_defaults[signal];
    }
    if (wanted != NULL && guarded && is_default(wanted)) {
        seen_defaults[signal] = *wanted;
        seen_defaults[signal].sa_flags |= RESTORER_FLAG;
    }
    if (old != NULL) {
        *old = previous;
    }
    return 0;
}

static void on_foreign_signal(int signal, siginfo_t* information, void* context) {
    struct sigaction action = stop_signal_action;
    if (is_default(&action)) {
        on_fatal_signal(signal, information, context);
    } else if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, information, context);
    } else if (action.sa_handler != SIG_IGN) {
        action.sa_handler(signal);
    }
}

void ll_signals_start(void) {
    // The first process of a container is not killed by default actions.
    guarding = ll_syscall(SYS_getpid) != 1;
    ll_process_on_foreign_signal(on_foreign_signal);
    for (int i = 0; guarding && i < GUARDED_COUNT; i++) {
        struct sigaction guard = guard_action();
        struct sigaction inherited;
        if (__sigaction(guarded_signals[i], NULL, &inherited) == 0 &&
            is_default(&inherited)) {
            __sigaction(guarded_signals[i], &guard, NULL);
        }
    }
}

static void on_trap(int signal, siginfo_t* information, void* context) {
    if (!ll_refine_trapped(information, context) && !ll_arming_trapped(context)) {
        on_fatal_signal(signal, information, context);
    }
}

void ll_signals_take_traps(void) {
    struct sigaction action = guard_action();
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    __sigaction(SIGTRAP, &action, NULL);
}

void ll_signals_end(void) {
    guarding = false;
    for (int i = 0; i < GUARDED_COUNT; i++) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        struct sigaction current;
        if (__sigaction(guarded_signals[i], NULL, &current) == 0 &&
            is_guard(&current)) {
            __sigaction(guarded_signals[i], &standard, NULL);
        }
    }
}

LL_EXPORT int sigaction(int signal, const struct sigaction* action,
                        struct sigaction* old) {
    return ll_signal_change_action(signal, action, old);
}
