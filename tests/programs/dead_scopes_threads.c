// A block that only a variable of an ended scope holds, in the frame of a thread that
// waits while another one ends the process. Built without optimisation.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "corpus.h"

static sem_t ready;
static sem_t never;

CASE char* scope_of_waiting_thread_ended_bad(void) {
    return malloc(10);
}

CASE char* scope_of_waiting_thread_open_ok(void) {
    return malloc(20);
}

CASE void leave(void) {
    {
        char* ended = scope_of_waiting_thread_ended_bad();
        KEEP(ended);
    }
    char* open = scope_of_waiting_thread_open_ok();
    KEEP(open);
    sem_post(&ready);
    sem_wait(&never);
}

static void* wait_for_ever(void* unused) {
    leave();
    return unused;
}

int main(void) {
    pthread_t thread;
    if (sem_init(&ready, 0, 0) != 0 || sem_init(&never, 0, 0) != 0 ||
        pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) {
        return 1;
    }
    sem_wait(&ready);
    exit(0);
}
