// Prints what a program can see of its signals: actions, masks, handlers that run.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

// siginterrupt is deprecated, but programs still call it.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void handle(int number) {
    printf("handled %d\n", number);
}

static void handle_with_value(int number, siginfo_t* information, void* context) {
    (void)context;
    printf("handled %d with %d\n", number, information->si_value.sival_int);
}

static const char* name_of(void (*handler)(int)) {
    if (handler == SIG_DFL) {
        return "default";
    }
    if (handler == SIG_IGN) {
        return "ignore";
    }
    if (handler == SIG_ERR) {
        return "error";
    }
    if (handler == SIG_HOLD) {
        return "hold";
    }
    return handler == handle ? "handle" : "other";
}

static void print_set(const sigset_t* set) {
    for (int number = 1; number <= SIGRTMAX; number++) {
        putchar(sigismember(set, number) == 1 ? '1' : '0');
    }
    putchar('\n');
}

static void print_actions(void) {
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        int result = sigaction(number, NULL, &action);
        printf("%d: %d", number, result);
        if (result == 0) {
            printf(" %s %x ", name_of(action.sa_handler), (unsigned)action.sa_flags);
            print_set(&action.sa_mask);
        } else {
            printf(" errno %d\n", errno);
        }
    }
}

static void set_actions(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct sigaction old;
    sigaddset(&action.sa_mask, SIGHUP);
    printf("%d\n", sigaction(SIGTERM, &action, &old));
    printf("%s %x\n", name_of(old.sa_handler), (unsigned)old.sa_flags);
    raise(SIGTERM);
    action.sa_handler = SIG_DFL;
    printf("%d\n", sigaction(SIGTERM, &action, &old));
    printf("%s %x\n", name_of(old.sa_handler), (unsigned)old.sa_flags);
    printf("%d\n", sigaction(SIGTERM, NULL, &old));
    printf("%s %x\n", name_of(old.sa_handler), (unsigned)old.sa_flags);
    print_set(&old.sa_mask);
    printf("%d %d\n", sigaction(SIGKILL, &action, NULL), errno);
    printf("%d %d\n", sigaction(1000, &action, NULL), errno);
}

static void set_by_other_functions(void) {
    printf("%s\n", name_of(signal(SIGINT, handle)));
    raise(SIGINT);
    raise(SIGINT);
    printf("%s\n", name_of(signal(SIGINT, SIG_IGN)));
    raise(SIGINT);
    printf("%s\n", name_of(signal(SIGINT, SIG_DFL)));
    printf("%s\n", name_of(sysv_signal(SIGUSR1, handle)));
    raise(SIGUSR1);
    printf("%s\n", name_of(signal(SIGUSR1, SIG_IGN)));
    printf("%s %d\n", name_of(signal(SIGKILL, handle)), errno);
    printf("%s %d\n", name_of(signal(0, handle)), errno);
    signal(SIGUSR2, handle);
    printf("%d\n", siginterrupt(SIGUSR2, 1));
    struct sigaction action;
    sigaction(SIGUSR2, NULL, &action);
    printf("%x\n", (unsigned)action.sa_flags);
    printf("%s\n", name_of(signal(SIGUSR2, handle)));
    sigaction(SIGUSR2, NULL, &action);
    printf("%x\n", (unsigned)action.sa_flags);
}

static void change_masks(void) {
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    printf("%d\n", sigprocmask(SIG_SETMASK, &all, &old));
    print_set(&old);
    printf("%d\n", pthread_sigmask(SIG_BLOCK, NULL, &old));
    print_set(&old);
    raise(SIGTERM);
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGRTMAX - 2);
    printf("%d\n", sigprocmask(SIG_UNBLOCK, &some, &old));
    print_set(&old);
    printf("%d\n", sigprocmask(SIG_UNBLOCK, NULL, &old));
    print_set(&old);
    printf("%d %d\n", sigprocmask(99, &some, &old), errno);
    printf("%d\n", pthread_sigmask(99, &some, &old));
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    int number = 0;
    printf("%d\n", sigwait(&some, &number));
    printf("%d\n", number);
    struct timespec no_time = {0, 0};
    printf("%d\n", sigtimedwait(&all, NULL, &no_time));
    printf("%d\n", errno);
    sigemptyset(&some);
    sigprocmask(SIG_SETMASK, &some, NULL);
}

// A program may use the very signal that stops threads.
static void use_every_realtime_signal(void) {
    struct sigaction action = {.sa_sigaction = handle_with_value,
                               .sa_flags = SA_SIGINFO};
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        union sigval value = {.sival_int = number * 3};
        printf("%d\n", sigaction(number, &action, NULL));
        sigqueue(getpid(), number, value);
        signal(number, handle);
        raise(number);
        printf("%s\n", name_of(signal(number, SIG_IGN)));
        raise(number);
    }
}

int main(void) {
    print_actions();
    set_actions();
    set_by_other_functions();
    change_masks();
    use_every_realtime_signal();
    fflush(stdout);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    return 1;
}
