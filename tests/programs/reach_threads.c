// References held by threads: live stacks, registers, thread-local storage and
// pthread-specific data count; those of a thread that has ended do not.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "corpus.h"

static sem_t ready;
static pthread_key_t key;
static __thread char* thread_local_slot;

CASE void* sleeper_stack_ok(void* unused) {
    (void)unused;
    char* volatile held = malloc(111);
    sem_post(&ready);
    for (;;) {
        pause();
    }
    KEEP(held);
    return NULL;
}

CASE void* sleeper_thread_local_ok(void* unused) {
    (void)unused;
    thread_local_slot = malloc(112);
    sem_post(&ready);
    for (;;) {
        pause();
    }
    return NULL;
}

CASE void* sleeper_specific_ok(void* unused) {
    (void)unused;
    pthread_setspecific(key, malloc(113));
    sem_post(&ready);
    for (;;) {
        pause();
    }
    return NULL;
}

// Spins so that the pointer lives in a register, not in memory.
CASE void* spinner_register_ok(void* unused) {
    (void)unused;
    char* held = malloc(114);
    sem_post(&ready);
    for (;;) {
        __asm__ volatile("" : "+r"(held));
    }
    return NULL;
}

// Missed by the checker: variables of a thread are globals to the checker.
CASE void* FN_ended_thread_local_bad(void* unused) {
    (void)unused;
    thread_local_slot = malloc(115);
    KEEP(thread_local_slot);
    return NULL;
}

CASE void* ended_stack_bad(void* unused) {
    (void)unused;
    char* volatile held = malloc(116);
    KEEP(held);
    return NULL;
}

CASE void* returned_to_joiner_ok(void* unused) {
    (void)unused;
    return malloc(117);
}

CASE void* freed_by_another_thread_ok(void* unused) {
    (void)unused;
    void** blocks = malloc(1000 * sizeof *blocks);
    for (int i = 0; i < 1000; i++) {
        blocks[i] = malloc((size_t)i + 1);
    }
    return blocks;
}

static void start_sleeper(void* (*run)(void*)) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_detach(thread);
    sem_wait(&ready);
}

static void* run_to_end(void* (*run)(void*)) {
    pthread_t thread;
    void* result;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, &result);
    return result;
}

int main(void) {
    static void* joined;
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, NULL);
    start_sleeper(sleeper_stack_ok);
    start_sleeper(sleeper_thread_local_ok);
    start_sleeper(sleeper_specific_ok);
    start_sleeper(spinner_register_ok);
    run_to_end(FN_ended_thread_local_bad);
    run_to_end(ended_stack_bad);
    joined = run_to_end(returned_to_joiner_ok);
    KEEP(&joined);
    void** blocks = run_to_end(freed_by_another_thread_ok);
    for (int i = 0; i < 1000; i++) {
        free(blocks[i]);
    }
    free(blocks);
    scrub();
    return 0;
}
