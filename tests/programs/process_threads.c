// A thousand threads that end in every way: return, pthread_exit, cancellation,
// detached or joined, from <pthread.h> and <threads.h>. What they leave behind is lost.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <unistd.h>

#include "corpus.h"

enum { ROUNDS = 50, THREADS_PER_ROUND = 20 };

static sem_t never;
static atomic_int ended;
static pthread_key_t key;

CASE void lose_in_thread_bad(void) {
    char* block = malloc(77);
    KEEP(block);
}

CASE void keep_in_key_ok(void) {
    pthread_setspecific(key, malloc(78));
}

// Allocates again in every round of destructors, and gives it all back at last.
static void destroy_key(void* value) {
    static __thread int rounds;
    free(value);
    if (++rounds < 3) {
        pthread_setspecific(key, malloc(79));
    } else {
        atomic_fetch_add(&ended, 1);
    }
}

static void* return_result(void* argument) {
    keep_in_key_ok();
    lose_in_thread_bad();
    return argument;
}

static void* exit_with_result(void* argument) {
    keep_in_key_ok();
    lose_in_thread_bad();
    pthread_exit(argument);
}

static void* wait_for_cancellation(void* argument) {
    keep_in_key_ok();
    lose_in_thread_bad();
    sem_wait(&never);
    return argument;
}

static int return_number(void* argument) {
    keep_in_key_ok();
    lose_in_thread_bad();
    return (int)(intptr_t)argument;
}

static long run_round(void) {
    pthread_t threads[THREADS_PER_ROUND];
    thrd_t c11_thread;
    void* result;
    int number;
    long sum = 0;
    for (intptr_t i = 0; i < THREADS_PER_ROUND; i++) {
        void* (*routine)(void*) = i % 3 == 0   ? return_result
                                  : i % 3 == 1 ? exit_with_result
                                               : wait_for_cancellation;
        pthread_create(&threads[i], NULL, routine, (void*)i);
    }
    for (int i = 0; i < THREADS_PER_ROUND; i++) {
        if (i % 3 == 2) {
            pthread_cancel(threads[i]);
        }
        if (i == 0) {
            pthread_detach(threads[i]);
            continue;
        }
        pthread_join(threads[i], &result);
        sum += result == PTHREAD_CANCELED ? -1 : (long)(intptr_t)result;
    }
    thrd_create(&c11_thread, return_number, (void*)5);
    thrd_join(c11_thread, &number);
    return sum + number;
}

static void refuse_to_create(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    printf("%d\n", pthread_attr_setstacksize(&attributes, (size_t)1 << 46));
    printf("%d\n", pthread_create(&thread, &attributes, return_result, NULL));
    pthread_attr_destroy(&attributes);
}

int main(void) {
    long sum = 0;
    sem_init(&never, 0, 0);
    pthread_key_create(&key, destroy_key);
    for (int i = 0; i < ROUNDS; i++) {
        sum += run_round();
    }
    while (atomic_load(&ended) < ROUNDS * (THREADS_PER_ROUND + 1)) {
        usleep(1000);
    }
    refuse_to_create();
    printf("%ld %d\n", sum, atomic_load(&ended));
    return 0;
}
