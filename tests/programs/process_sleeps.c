// Sleeps in one kind of system call after another until told to stop, and counts the
// calls that a signal ended.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { SLEEP_MS = 40 };

static const struct timespec sleep_time = {0, SLEEP_MS * 1000000};
static volatile sig_atomic_t finished;

CASE void lose_block_bad(void) {
    char* block = malloc(55);
    KEEP(block);
}

static void finish(int number) {
    (void)number;
    finished = 1;
}

static struct timespec deadline(void) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += SLEEP_MS * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    return end;
}

static int in_nanosleep(void) {
    return nanosleep(&sleep_time, NULL);
}

static int in_usleep(void) {
    return usleep(SLEEP_MS * 1000);
}

static int in_absolute_sleep(void) {
    struct timespec end = deadline();
    errno = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL);
    return errno == 0 ? 0 : -1;
}

static int in_poll(void) {
    return poll(NULL, 0, SLEEP_MS);
}

static int in_ppoll(void) {
    return ppoll(NULL, 0, &sleep_time, NULL);
}

static int in_select(void) {
    struct timeval time = {0, SLEEP_MS * 1000};
    return select(0, NULL, NULL, NULL, &time);
}

static int in_epoll(void) {
    static int epoll = -1;
    struct epoll_event event;
    if (epoll < 0) {
        epoll = epoll_create1(0);
    }
    return epoll_wait(epoll, &event, 1, SLEEP_MS);
}

static int in_semaphore(void) {
    sem_t semaphore;
    struct timespec end = deadline();
    sem_init(&semaphore, 0, 0);
    return sem_timedwait(&semaphore, &end);
}

static int in_receive(void) {
    static int pair[2] = {-1, -1};
    struct timeval time = {0, SLEEP_MS * 1000};
    char byte;
    if (pair[0] < 0) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    }
    return (int)recv(pair[0], &byte, 1, 0);
}

static int in_signal_wait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &sleep_time);
}

static int in_condition(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end = deadline();
    pthread_mutex_lock(&mutex);
    errno = pthread_cond_timedwait(&condition, &mutex, &end);
    return -1;
}

static int in_raw_futex(void) {
    static int word;
    return (int)syscall(SYS_futex, &word, 0, 0, &sleep_time, NULL, 0);
}

static int in_raw_epoll(void) {
    static int epoll = -1;
    struct epoll_event event;
    if (epoll < 0) {
        epoll = epoll_create1(0);
    }
    return (int)syscall(SYS_epoll_wait, epoll, &event, 1, SLEEP_MS);
}

int main(void) {
    static const struct {
        const char* name;
        int (*sleep)(void);
    } ways[] = {
        {"nanosleep", in_nanosleep},
        {"usleep", in_usleep},
        {"absolute", in_absolute_sleep},
        {"poll", in_poll},
        {"ppoll", in_ppoll},
        {"select", in_select},
        {"epoll", in_epoll},
        {"semaphore", in_semaphore},
        {"receive", in_receive},
        {"signal", in_signal_wait},
        {"condition", in_condition},
        {"raw futex", in_raw_futex},
        {"raw epoll", in_raw_epoll},
    };
    enum { COUNT = sizeof ways / sizeof *ways };
    struct sigaction action = {.sa_handler = finish, .sa_flags = SA_RESTART};
    int interrupted[COUNT] = {0};
    sigaction(SIGUSR1, &action, NULL);
    lose_block_bad();
    scrub();
    puts("ready");
    fflush(stdout);
    int rounds = 0;
    for (int i = 0; !finished; i = (i + 1) % COUNT) {
        rounds += i == 0;
        if (ways[i].sleep() < 0 && errno == EINTR && !finished) {
            interrupted[i]++;
        }
    }
    printf("%d rounds\n", rounds);
    for (int i = 0; i < COUNT; i++) {
        if (interrupted[i] != 0) {
            printf("%s %d\n", ways[i].name, interrupted[i]);
        }
    }
    return 0;
}
