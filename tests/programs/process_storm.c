// Threads that allocate, a timer signal every millisecond, and children by fork and
// vfork, all at once for a moment: nothing may hang, and every child must end as it
// was told.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { ALLOCATORS = 3, CHILDREN = 30, SLOTS = 64 };

static atomic_bool finished;
static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
    (void)number;
    alarms++;
}

static void* allocate(void* unused) {
    char* slots[SLOTS] = {0};
    unsigned random = 1;
    while (!atomic_load(&finished)) {
        random = random * 1103515245 + 12345;
        unsigned slot = random >> 16 & (SLOTS - 1);
        free(slots[slot]);
        slots[slot] = malloc(random >> 20);
    }
    for (int i = 0; i < SLOTS; i++) {
        free(slots[i]);
    }
    return unused;
}

static void* end_at_once(void* unused) {
    free(malloc(10));
    return unused;
}

static void* create_threads(void* unused) {
    while (!atomic_load(&finished)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return unused;
}

// Missed by the checker: what is lost just before an exit is not worth a report.
static void FN_lost_before_exit_bad(int number) {
    KEEP(malloc(200));
    exit(number);
}

static pid_t start_child(int number) {
    pid_t child;
    switch (number % 4) {
    case 0:
        child = fork();
        if (child == 0) {
            free(malloc(100));
            _exit(number);
        }
        return child;
    case 1:
        child = fork();
        if (child == 0) {
            FN_lost_before_exit_bad(number);
        }
        return child;
    case 2:
        child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", (char*)NULL);
            _exit(1);
        }
        return child;
    default:
        child = fork();
        if (child == 0) {
            raise(SIGTERM);
        }
        return child;
    }
}

static bool ended_as_told(int number, int status) {
    switch (number % 4) {
    case 2:
        return status == 0;
    case 3:
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    default:
        return WIFEXITED(status) && WEXITSTATUS(status) == number;
    }
}

static int count_wrong_children(void) {
    int wrong = 0;
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        pid_t child = start_child(i);
        while (waitpid(child, &status, 0) < 0) {
        }
        wrong += !ended_as_told(i, status);
    }
    return wrong;
}

int main(void) {
    pthread_t threads[ALLOCATORS + 1];
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < ALLOCATORS; i++) {
        pthread_create(&threads[i], NULL, allocate, NULL);
    }
    pthread_create(&threads[ALLOCATORS], NULL, create_threads, NULL);
    int wrong = count_wrong_children();
    atomic_store(&finished, true);
    for (int i = 0; i <= ALLOCATORS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d wrong, alarms %s\n", wrong, alarms > 0 ? "came" : "did not come");
    return wrong;
}
