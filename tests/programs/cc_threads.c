// Threads that lose blocks at the same time, each in its own way, and hand others over
// (marks: cc_variables.c).
#include <pthread.h>
#include <stdatomic.h>

#include "corpus.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct node {
    struct node* next;
    char* text;
};

static struct node* _Atomic top;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char* shared;

__attribute__((noinline)) static void* early_return_bad(void) {
    void* block = malloc(40);
    KEEP(block);
    return block;
}

// Missed by the checker: one call keeps it, and only the next one loses it.
__attribute__((noinline)) static void* FN_overwritten_bad(void) {
    void* block = malloc(50);
    KEEP(block);
    return block;
}

static void release(struct node* node) {
    if (node != NULL) {
        free(node->text);
        free(node);
    }
}

__attribute__((noinline)) static int work(int round) {
    char* text = early_return_bad();
    if (round % 1000 == 7) {
        return 1; // loss(early_return_bad): out-of-scope text
    }
    struct node* node = malloc(sizeof *node);
    node->next = NULL;
    node->text = text;
    release(atomic_exchange(&top, node));
    pthread_mutex_lock(&lock);
    if (round % 1000 == 8) {
        shared = FN_overwritten_bad(); // loss(FN_overwritten_bad): overwritten shared
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static void* run(void* unused) {
    for (int round = 0; round < ROUNDS; round++) {
        work(round);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, run, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    scrub();
    return 0;
}
