// Threads that block every signal hold blocks in a register or on their stack only.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "corpus.h"

static sem_t ready;

static void block_all_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

CASE void* sleeper_ok(void* unused) {
    char* volatile held = malloc(711);
    block_all_signals();
    sem_post(&ready);
    for (;;) {
        pause();
    }
    KEEP(held);
    return unused;
}

CASE void* spinner_ok(void* unused) {
    char* held = malloc(712);
    block_all_signals();
    sem_post(&ready);
    for (;;) {
        __asm__ volatile("" : "+r"(held));
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, sleeper_ok, NULL);
    pthread_create(&thread, NULL, spinner_ok, NULL);
    sem_wait(&ready);
    sem_wait(&ready);
    scrub();
    return 0;
}
