// The older ways to set a signal's action: libc's own versions would not see that our
// handlers count as the default action.
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "entry/signals.h"

// Signals that siginterrupt asked to interrupt system calls, as signal() heeds them.
static sigset_t interrupting;

static sighandler_t set_handler(int signal, sighandler_t handler, int flags,
                                bool masks_itself) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction old;
    if (handler == SIG_ERR || signal < 1 || signal >= NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (masks_itself) {
        sigaddset(&action.sa_mask, signal);
    }
    return ll_signal_change_action(signal, &action, &old) == 0 ? old.sa_handler
                                                               : SIG_ERR;
}

static sighandler_t set_bsd_handler(int signal, sighandler_t handler) {
    bool interrupts = signal > 0 && sigismember(&interrupting, signal) == 1;
    return set_handler(signal, handler, interrupts ? 0 : SA_RESTART, true);
}

static sighandler_t set_sysv_handler(int signal, sighandler_t handler) {
    return set_handler(signal, handler, (int)(SA_RESETHAND | SA_NODEFER), false);
}

#define SIGNAL_FUNCTION(name, set)                                                     \
    LL_EXPORT sighandler_t name(int number, sighandler_t handler);                     \
    sighandler_t name(int number, sighandler_t handler) {                              \
        return set(number, handler);                                                   \
    }
SIGNAL_FUNCTION(signal, set_bsd_handler)
SIGNAL_FUNCTION(bsd_signal, set_bsd_handler)
SIGNAL_FUNCTION(ssignal, set_bsd_handler)
SIGNAL_FUNCTION(sysv_signal, set_sysv_handler)
SIGNAL_FUNCTION(__sysv_signal, set_sysv_handler)

LL_EXPORT int siginterrupt(int signal, int interrupts) {
    struct sigaction action;
    if (ll_signal_change_action(signal, NULL, &action) != 0) {
        return -1;
    }
    if (interrupts != 0) {
        sigaddset(&interrupting, signal);
        action.sa_flags &= ~SA_RESTART;
    } else {
        sigdelset(&interrupting, signal);
        action.sa_flags |= SA_RESTART;
    }
    return ll_signal_change_action(signal, &action, NULL);
}

LL_EXPORT int sigignore(int signal) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    return ll_signal_change_action(signal, &action, NULL);
}

static bool change_mask(int how, int signal, bool* was_blocked) {
    sigset_t set;
    sigset_t old;
    sigemptyset(&set);
    if (sigaddset(&set, signal) != 0 || sigprocmask(how, &set, &old) != 0) {
        return false;
    }
    *was_blocked = sigismember(&old, signal) == 1;
    return true;
}

LL_EXPORT sighandler_t sigset(int signal, sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler};
    struct sigaction old;
    bool was_blocked;
    if (handler == SIG_HOLD) {
        if (!change_mask(SIG_BLOCK, signal, &was_blocked) ||
            ll_signal_change_action(signal, NULL, &old) != 0) {
            return SIG_ERR;
        }
        return was_blocked ? SIG_HOLD : old.sa_handler;
    }
    if (ll_signal_change_action(signal, &action, &old) != 0 ||
        !change_mask(SIG_UNBLOCK, signal, &was_blocked)) {
        return SIG_ERR;
    }
    return was_blocked ? SIG_HOLD : old.sa_handler;
}
