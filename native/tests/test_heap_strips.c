// Random work of many threads on a heap that keeps contexts apart, against a model:
// what each block holds, how large it is and who allocated it. Threads free and resize
// each other's blocks of all classes, contexts come and go, and signal handlers join
// in.
#include <pthread.h>
#include <signal.h>

#include "blocks.h"
#include "check.h"
#include "heap/aged.h"
#include "heap/heap.h"
#include "heap/page_states.h"

enum {
    THREADS = 6,
    SLOTS = 2048,
    CONTEXTS = 96,
    CONTEXTS_AT_ONCE = 24,
    PHASES = 8,
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    STEPS = 1500, // of each thread in a phase
#else
    STEPS = 8000,
#endif
};

struct slot {
    pthread_mutex_t lock;
    struct patterned block; // no block: its start is NULL
};

static struct slot slots[SLOTS];
static struct ll_aged contexts[CONTEXTS];

static struct ll_taken allocate_among_its_like(unsigned class, size_t size_bytes,
                                               ll_site site) {
    struct ll_taken taken =
        ll_aged_allocate(&contexts[site % CONTEXTS], class, size_bytes, site);
    return taken.block != NULL ? taken
                               : ll_heap_allocate_in_common(class, size_bytes, site);
}

static void check_block(struct patterned block) {
    CHECK(ll_heap_requested_size(block.start) == block.size_bytes);
    CHECK(ll_heap_site(block.start) == block.site);
    CHECK(pattern_is_intact(block));
}

static void release(struct patterned* block) {
    check_block(*block);
    CHECK(ll_heap_release(block->start));
    block->start = NULL;
}

static void allocate(struct patterned* block, uint32_t site, uint32_t* random) {
    block->site = site;
    block->size_bytes = random_size(random);
    bool is_zeroed = next_random(random) % 4 == 0;
    block->start = is_zeroed ? ll_heap_allocate_zeroed(block->size_bytes, site)
                             : ll_heap_allocate(block->size_bytes, site);
    CHECK(block->start != NULL);
    CHECK(!is_zeroed || pattern_holds(block->start, 0, block->size_bytes));
    pattern_fill(*block);
}

static void resize(struct patterned* block, uint32_t site, uint32_t* random) {
    struct patterned before = *block;
    block->site = site;
    block->size_bytes = random_size(random) + 1;
    block->start = ll_heap_reallocate(before.start, block->size_bytes, site).block;
    CHECK(block->start != NULL);
    size_t kept =
        before.size_bytes < block->size_bytes ? before.size_bytes : block->size_bytes;
    CHECK(pattern_holds(block->start, pattern_of(before.start), kept));
    pattern_fill(*block);
}

// Odd phases free more than they allocate.
static void step(struct slot* slot, unsigned phase, uint32_t* random) {
    uint32_t choice = next_random(random) % 8;
    uint32_t site =
        1 + phase * CONTEXTS_AT_ONCE / 2 + next_random(random) % CONTEXTS_AT_ONCE;
    if (slot->block.start == NULL) {
        if (phase % 2 == 0 || choice == 0) {
            allocate(&slot->block, site, random);
        }
    } else if (choice == 1) {
        resize(&slot->block, site, random);
    } else if (phase % 2 == 1 || choice < 4) {
        release(&slot->block);
    } else {
        check_block(slot->block);
    }
}

static void on_signal(int number) {
    static __thread uint32_t random = 1;
    struct patterned block;
    (void)number;
    allocate(&block, 1 + next_random(&random) % CONTEXTS, &random);
    release(&block);
}

static void* work(void* argument) {
    uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u + 1;
    for (unsigned i = 0; i < PHASES * STEPS; i++) {
        struct slot* slot = &slots[next_random(&random) % SLOTS];
        pthread_mutex_lock(&slot->lock);
        step(slot, i / STEPS, &random);
        pthread_mutex_unlock(&slot->lock);
        if (next_random(&random) % 512 == 0) {
            raise(SIGUSR1);
        }
    }
    ll_heap_thread_exit();
    return NULL;
}

static void random_work_of_threads_agrees_with_the_model(void) {
    pthread_t threads[THREADS];
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < SLOTS; i++) {
        pthread_mutex_init(&slots[i].lock, NULL);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void*)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].block.start != NULL) {
            release(&slots[i].block);
        }
    }
}

static void nothing_is_left(void) {
    struct ll_heap_totals totals = ll_heap_totals();
    CHECK(totals.live_blocks == 0);
    CHECK(totals.allocations == totals.frees);
    CHECK(totals.allocations > THREADS * STEPS);
}

int main(void) {
    CHECK(ll_page_states_start() && ll_aged_start(1) && ll_heap_start());
    ll_heap_segregate(allocate_among_its_like);
    random_work_of_threads_agrees_with_the_model();
    nothing_is_left();
    return failures != 0;
}
