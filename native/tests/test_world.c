// Threads stop with their registers, those that block the signal are told apart, and
// no system call ends because of a stop.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "os/lock.h"
#include "os/syscall.h"
#include "os/world.h"

enum { STOP_SIGNAL = 62, STOPS = 300 };

static atomic_bool finished;
static atomic_int ready;
static atomic_int interrupted;
static atomic_int last_tid; // of the thread that last announced itself

static void stop_world(struct ll_world* world) {
    CHECK(ll_world_stop(world));
}

static void on_other_signal(int signal, siginfo_t* information, void* context) {
    (void)signal;
    (void)information;
    (void)context;
}

static void start_thread(pthread_t* thread, void* (*routine)(void*), void* argument) {
    CHECK(pthread_create(thread, NULL, routine, argument) == 0);
}

// Spins with a known value in a callee-saved register and in a vector register.
static void* hold_values(void* unused) {
    (void)unused;
    atomic_store(&last_tid, gettid());
    atomic_fetch_add(&ready, 1);
    __asm__ volatile("mov $0x1122334455667788, %%r12\n\t"
                     "mov $0x99aabbccddeeff00, %%rax\n\t"
                     "movq %%rax, %%xmm7\n\t"
                     "xor %%eax, %%eax\n\t"
                     "1: pause\n\t"
                     "cmpb $0, %0\n\t"
                     "je 1b"
                     :
                     : "m"(finished)
                     : "rax", "r12", "xmm7", "cc", "memory");
    return NULL;
}

static bool holds(const void* bytes, size_t size, uint64_t wanted) {
    for (size_t at = 0; at + sizeof wanted <= size; at += sizeof wanted) {
        if (memcmp((const char*)bytes + at, &wanted, sizeof wanted) == 0) {
            return true;
        }
    }
    return false;
}

// The thread among those stopped; a sanitizer may run threads of its own.
static const struct ll_stopped_thread* find(const struct ll_world* world, int tid) {
    for (size_t i = 0; i < world->count; i++) {
        if (world->threads[i].tid == tid) {
            return &world->threads[i];
        }
    }
    return NULL;
}

static void registers_of_running_threads_are_kept(void) {
    struct ll_world world;
    pthread_t thread;
    atomic_store(&finished, false);
    atomic_store(&ready, 0);
    start_thread(&thread, hold_values, NULL);
    while (atomic_load(&ready) == 0) {
        usleep(1000);
    }
    usleep(10000);
    uint64_t mask = ll_signals_block();
    stop_world(&world);
    const struct ll_stopped_thread* held = find(&world, last_tid);
    CHECK(held != NULL && held->stopped);
    if (held != NULL) {
        CHECK(held->registers.general[12] == 0x1122334455667788);
        CHECK(held->registers.general[LL_RSP] != 0);
        CHECK(held->thread_pointer == (uintptr_t)thread);
        CHECK(
            holds(held->vector_registers, held->vector_size_bytes, 0x99aabbccddeeff00));
    }
    ll_world_resume(&world);
    ll_signals_restore(mask);
    atomic_store(&finished, true);
    pthread_join(thread, NULL);
}

static void* block_signals(void* unused) {
    uint64_t all = UINT64_MAX;
    (void)unused;
    ll_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
    atomic_store(&last_tid, gettid());
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&finished)) {
        usleep(1000);
    }
    return NULL;
}

static void thread_that_blocks_the_signal_is_reported(void) {
    struct ll_world world;
    pthread_t thread;
    atomic_store(&finished, false);
    atomic_store(&ready, 0);
    start_thread(&thread, block_signals, NULL);
    while (atomic_load(&ready) == 0) {
        usleep(1000);
    }
    uint64_t mask = ll_signals_block();
    stop_world(&world);
    const struct ll_stopped_thread* blocking = find(&world, last_tid);
    CHECK(blocking != NULL && !blocking->stopped);
    ll_world_resume(&world);
    ll_signals_restore(mask);
    atomic_store(&finished, true);
    pthread_join(thread, NULL);
}

static void* end_at_once(void* unused) {
    return unused;
}

static void* create_threads(void* unused) {
    (void)unused;
    while (!atomic_load(&finished)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
            pthread_join(thread, NULL);
        }
    }
    return NULL;
}

static void threads_come_and_go_while_stopping(void) {
    struct ll_world world;
    pthread_t creators[3];
    atomic_store(&finished, false);
    for (int i = 0; i < 3; i++) {
        start_thread(&creators[i], create_threads, NULL);
    }
    for (int i = 0; i < STOPS; i++) {
        uint64_t mask = ll_signals_block();
        stop_world(&world);
        CHECK(world.count >= 3);
        ll_world_resume(&world);
        ll_signals_restore(mask);
    }
    atomic_store(&finished, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(creators[i], NULL);
    }
}

// One way to sleep for about `SLEEP_MS`; the result is checked for EINTR.
enum { SLEEP_MS = 20 };
static const struct timespec sleep_time = {0, SLEEP_MS * 1000000};

static int sleep_nanosleep(void) {
    return nanosleep(&sleep_time, NULL);
}

static int sleep_clock(void) {
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep_time, NULL);
    return errno == 0 ? 0 : -1;
}

static int sleep_poll(void) {
    return poll(NULL, 0, SLEEP_MS);
}

static int sleep_ppoll(void) {
    return ppoll(NULL, 0, &sleep_time, NULL);
}

static int sleep_select(void) {
    struct timeval time = {0, SLEEP_MS * 1000};
    return select(0, NULL, NULL, NULL, &time);
}

static int sleep_pselect(void) {
    return pselect(0, NULL, NULL, NULL, &sleep_time, NULL);
}

static int sleep_epoll(void) {
    struct epoll_event event;
    int epoll = epoll_create1(0);
    int result = epoll_wait(epoll, &event, 1, SLEEP_MS);
    int error = errno;
    close(epoll);
    errno = error;
    return result;
}

static int sleep_semaphore(void) {
    sem_t semaphore;
    struct timespec deadline;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += SLEEP_MS * 1000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    return sem_timedwait(&semaphore, &deadline);
}

static int sleep_socket(void) {
    int pair[2];
    char byte;
    struct timeval time = {0, SLEEP_MS * 1000};
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    int result = (int)recv(pair[0], &byte, 1, 0);
    int error = errno;
    close(pair[0]);
    close(pair[1]);
    errno = error;
    return result;
}

static int sleep_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &sleep_time);
}

static int sleep_semop(void) {
    int set = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {.sem_num = 0, .sem_op = -1};
    int result = semtimedop(set, &down, 1, &sleep_time);
    int error = errno;
    semctl(set, 0, IPC_RMID);
    errno = error;
    return result;
}

typedef int sleeper(void);

static void* sleep_again_and_again(void* argument) {
    sleeper* sleep_once = *(sleeper**)argument;
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&finished)) {
        if (sleep_once() < 0 && errno == EINTR) {
            atomic_fetch_add(&interrupted, 1);
        }
    }
    return NULL;
}

static void no_sleep_is_interrupted(void) {
    static sleeper* sleepers[] = {sleep_nanosleep, sleep_clock,     sleep_poll,
                                  sleep_ppoll,     sleep_select,    sleep_pselect,
                                  sleep_epoll,     sleep_semaphore, sleep_socket,
                                  sleep_signal,    sleep_semop};
    enum { COUNT = sizeof sleepers / sizeof *sleepers };
    pthread_t threads[COUNT];
    struct ll_world world;
    atomic_store(&finished, false);
    atomic_store(&ready, 0);
    atomic_store(&interrupted, 0);
    for (int i = 0; i < COUNT; i++) {
        start_thread(&threads[i], sleep_again_and_again, &sleepers[i]);
    }
    while (atomic_load(&ready) < COUNT) {
        usleep(1000);
    }
    for (int i = 0; i < STOPS; i++) {
        uint64_t mask = ll_signals_block();
        stop_world(&world);
        CHECK(world.count >= COUNT);
        ll_world_resume(&world);
        ll_signals_restore(mask);
        usleep((unsigned)(i % 7) * 500);
    }
    atomic_store(&finished, true);
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(atomic_load(&interrupted) == 0);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct timed {
    sleeper* sleep_once;
    double took;
};

static int sleep_long_nanosleep(void) {
    struct timespec time = {0, 300000000};
    return nanosleep(&time, NULL);
}

static int sleep_long_poll(void) {
    return poll(NULL, 0, 300);
}

static int sleep_long_epoll(void) {
    struct epoll_event event;
    int epoll = epoll_create1(0);
    int result = epoll_wait(epoll, &event, 1, 300);
    close(epoll);
    return result;
}

static int sleep_long_select(void) {
    struct timeval time = {0, 300000};
    return select(0, NULL, NULL, NULL, &time);
}

static void* time_sleep(void* argument) {
    struct timed* timed = argument;
    double begin = seconds();
    CHECK(timed->sleep_once() == 0);
    timed->took = seconds() - begin;
    atomic_fetch_add(&ready, 1);
    return NULL;
}

static void sleeps_last_no_longer(void) {
    struct timed sleeps[] = {{sleep_long_nanosleep, 0},
                             {sleep_long_poll, 0},
                             {sleep_long_epoll, 0},
                             {sleep_long_select, 0}};
    pthread_t threads[4];
    struct ll_world world;
    atomic_store(&ready, 0);
    for (int i = 0; i < 4; i++) {
        start_thread(&threads[i], time_sleep, &sleeps[i]);
    }
    while (atomic_load(&ready) < 4) {
        uint64_t mask = ll_signals_block();
        stop_world(&world);
        ll_world_resume(&world);
        ll_signals_restore(mask);
        usleep(5000);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(sleeps[i].took >= 0.29 && sleeps[i].took < 5);
    }
}

static atomic_int pauses_ended;

static void note_signal(int signal) {
    (void)signal;
}

static void* pause_once(void* unused) {
    (void)unused;
    atomic_fetch_add(&ready, 1);
    CHECK(pause() == -1 && errno == EINTR);
    atomic_fetch_add(&pauses_ended, 1);
    return NULL;
}

// The program's own signal interrupts as ever, also when it comes during a stop.
static void own_signals_still_interrupt(void) {
    struct sigaction action = {.sa_handler = note_signal};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 20; i++) {
        struct ll_world world;
        pthread_t thread;
        atomic_store(&ready, 0);
        atomic_store(&pauses_ended, 0);
        start_thread(&thread, pause_once, NULL);
        while (atomic_load(&ready) == 0) {
            usleep(1000);
        }
        usleep(5000);
        uint64_t mask = ll_signals_block();
        stop_world(&world);
        pthread_kill(thread, SIGUSR1);
        ll_world_resume(&world);
        ll_signals_restore(mask);
        for (int wait = 0; wait < 1000 && atomic_load(&pauses_ended) == 0; wait++) {
            usleep(1000);
        }
        CHECK(atomic_load(&pauses_ended) == 1);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
    }
}

int main(void) {
    CHECK(ll_world_start(STOP_SIGNAL, on_other_signal));
    registers_of_running_threads_are_kept();
    thread_that_blocks_the_signal_is_reported();
    threads_come_and_go_while_stopping();
    no_sleep_is_interrupted();
    sleeps_last_no_longer();
    own_signals_still_interrupt();
    return failures != 0;
}
