// Blocks that change hands: freed by other threads, after their thread has ended, and
// by threads that have ended their own heap. Meant for ThreadSanitizer too.
#include <pthread.h>
#include <stdlib.h>

#include "blocks.h"
#include "check.h"
#include "heap/inspect.h"

enum { THREADS = 4, ROUNDS = 5, STEPS = 8000, SHARED_MAX = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct patterned shared[SHARED_MAX];
static size_t shared_count;
static int damaged;

static void note(bool intact) {
    if (!intact) {
        __atomic_fetch_add(&damaged, 1, __ATOMIC_RELAXED);
    }
}

static void release(struct patterned block) {
    note(pattern_is_intact(block));
    note(ll_heap_release(block.start));
}

// Leaves the block to whoever comes, or frees it if there is no place.
static void hand_over(struct patterned block) {
    pthread_mutex_lock(&lock);
    bool has_place = shared_count < SHARED_MAX;
    if (has_place) {
        shared[shared_count++] = block;
    }
    pthread_mutex_unlock(&lock);
    if (!has_place) {
        release(block);
    }
}

static void take_over(uint32_t* random_state) {
    struct patterned block = {NULL, 0, 0};
    pthread_mutex_lock(&lock);
    if (shared_count > 0) {
        size_t i = next_random(random_state) % shared_count;
        block = shared[i];
        shared[i] = shared[--shared_count];
    }
    pthread_mutex_unlock(&lock);
    if (block.start != NULL) {
        release(block);
    }
}

static struct patterned allocate(uint32_t* random_state) {
    size_t size = random_size(random_state);
    uint32_t site = next_random(random_state);
    struct patterned block = {ll_heap_allocate(size, site), size, site};
    note(block.start != NULL);
    pattern_fill(block);
    return block;
}

static void* exchange_blocks(void* seed) {
    enum { OWN_MAX = 300 };
    struct patterned own[OWN_MAX];
    size_t own_count = 0;
    uint32_t random_state = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < STEPS; i++) {
        if (own_count < OWN_MAX) {
            own[own_count++] = allocate(&random_state);
        }
        size_t chosen = next_random(&random_state) % own_count;
        uint32_t choice = next_random(&random_state) % 8;
        if (choice < 6) {
            struct patterned block = own[chosen];
            own[chosen] = own[--own_count];
            choice < 3 ? hand_over(block) : release(block);
        }
        if (choice % 2 == 0) {
            take_over(&random_state);
        }
    }
    while (own_count > 0) {
        hand_over(own[--own_count]);
    }
    ll_heap_thread_exit();
    release(allocate(&random_state));
    hand_over(allocate(&random_state));
    take_over(&random_state);
    return NULL;
}

static void run_threads(void* (*work)(void*), uintptr_t first_seed) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void*)(first_seed + i));
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void blocks_survive_their_threads(void) {
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        run_threads(exchange_blocks, 1 + round * THREADS);
        CHECK(damaged == 0);
        CHECK(ll_heap_totals().live_blocks == shared_count);
    }
    uint32_t random_state = 7;
    while (shared_count > 0) {
        take_over(&random_state);
    }
    CHECK(damaged == 0);
    CHECK(ll_heap_totals().live_blocks == 0);
}

// One thread allocates what the other frees, as in a pipeline.
static struct patterned pipe_block;
static uint32_t pipe_is_full;

static void* consume(void* count) {
    for (uintptr_t i = 0; i < (uintptr_t)count; i++) {
        while (__atomic_load_n(&pipe_is_full, __ATOMIC_ACQUIRE) == 0) {
            sched_yield();
        }
        release(pipe_block);
        __atomic_store_n(&pipe_is_full, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void a_pipeline_reuses_its_blocks(void) {
    enum { COUNT = 20000 };
    uint64_t mapped_before = ll_heap_totals().mapped_bytes;
    pthread_t consumer;
    pthread_create(&consumer, NULL, consume, (void*)COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct patterned block = {ll_heap_allocate(1000, 1), 1000, 1};
        pattern_fill(block);
        while (__atomic_load_n(&pipe_is_full, __ATOMIC_ACQUIRE) != 0) {
            sched_yield();
        }
        pipe_block = block;
        __atomic_store_n(&pipe_is_full, 1, __ATOMIC_RELEASE);
    }
    pthread_join(consumer, NULL);
    CHECK(damaged == 0);
    CHECK(ll_heap_totals().mapped_bytes - mapped_before < (2 << 20));
}

static void* allocate_and_end(void* count) {
    for (uintptr_t i = 0; i < (uintptr_t)count; i++) {
        ll_heap_release(ll_heap_allocate(100 + i, 1));
    }
    hand_over((struct patterned){ll_heap_allocate(0, 1), 0, 1});
    ll_heap_thread_exit();
    return NULL;
}

static void spans_of_ended_threads_are_adopted(void) {
    run_threads(allocate_and_end, 500);
    uint64_t mapped_before = ll_heap_totals().mapped_bytes;
    for (int i = 0; i < 50; i++) {
        run_threads(allocate_and_end, 500);
    }
    CHECK(ll_heap_totals().mapped_bytes - mapped_before < (4 << 20));
}

int main(void) {
    CHECK(ll_heap_start());
    blocks_survive_their_threads();
    a_pipeline_reuses_its_blocks();
    spans_of_ended_threads_are_adopted();
    return failures != 0;
}
