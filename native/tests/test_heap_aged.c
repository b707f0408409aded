// Spans of contexts: what is allocated by one stack lies together and in order of age,
// nothing overlaps, and freed memory comes back, also when threads free each other's
// blocks.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "check.h"
#include "heap/aged.h"
#include "heap/heap.h"
#include "heap/page_states.h"

enum { CLASS = 3, BLOCK_BYTES = 60, MANY = 20000 };

static struct ll_aged one;
static struct ll_aged other;

static char* take(struct ll_aged* aged) {
    return ll_aged_allocate(aged, CLASS, BLOCK_BYTES, 1).block;
}

static void blocks_of_two_contexts_share_no_page(void) {
    for (int i = 0; i < 1000; i++) {
        uintptr_t first = (uintptr_t)take(&one);
        uintptr_t second = (uintptr_t)take(&other);
        CHECK(first >> LL_PAGE_SHIFT != second >> LL_PAGE_SHIFT);
    }
}

static void blocks_of_a_page_lie_in_order_of_age(void) {
    struct ll_aged fresh = {0};
    char* before = take(&fresh);
    for (int i = 1; i < 1000; i++) {
        char* now = take(&fresh);
        CHECK(now == before + 64 || (uintptr_t)now % LL_PAGE_SIZE == 0);
        before = now;
    }
}

static void no_block_lies_on_two_pages(void) {
    enum { ODD_CLASS = 8, ODD_BYTES = 130 };
    struct ll_aged fresh = {0};
    for (int i = 0; i < 1000; i++) {
        uintptr_t block =
            (uintptr_t)ll_aged_allocate(&fresh, ODD_CLASS, ODD_BYTES, 1).block;
        uintptr_t last = block + ll_heap_usable_size((void*)block);
        CHECK(block >> LL_PAGE_SHIFT == last >> LL_PAGE_SHIFT);
    }
}

// Blocks of every class lie apart from each other and from those of other contexts.
static void blocks_of_all_sizes_keep_apart(void) {
    enum { BLOCKS = 64 };
    static unsigned char* blocks[LL_CLASS_COUNT][BLOCKS];
    static struct ll_aged contexts[LL_CLASS_COUNT];
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        size_t size = ll_classes[class].block_size - 1;
        for (int i = 0; i < BLOCKS; i++) {
            unsigned char* block =
                ll_aged_allocate(&contexts[class], class, size, 1).block;
            CHECK(block != NULL && ll_heap_is_block(block));
            memset(block, pattern_of(block), size);
            blocks[class][i] = block;
        }
    }
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        size_t size = ll_classes[class].block_size - 1;
        for (int i = 0; i < BLOCKS; i++) {
            struct patterned found = {blocks[class][i], size, 1};
            CHECK(pattern_is_intact(found));
            CHECK(ll_heap_release(blocks[class][i]));
        }
    }
}

// A context that comes and goes leaves no page behind that others could use.
static void empty_pages_go_to_other_contexts(void) {
    enum { CONTEXTS = 200, BLOCKS = 300 };
    static struct ll_aged contexts[CONTEXTS];
    static char* blocks[BLOCKS];
    uint64_t before = ll_heap_totals().mapped_bytes;
    for (int i = 0; i < CONTEXTS; i++) {
        for (int k = 0; k < BLOCKS; k++) {
            blocks[k] = take(&contexts[i]);
        }
        for (int k = 0; k < BLOCKS; k++) {
            CHECK(ll_heap_release(blocks[k]));
        }
    }
    CHECK(ll_heap_totals().mapped_bytes < before + (1 << 20));
}

// One block in use keeps its page; its context does not lose the others for it.
static void a_block_that_stays_keeps_its_page_only(void) {
    enum { ROUNDS = 1000, BLOCKS = 100 };
    static char* blocks[BLOCKS];
    struct ll_aged aged = {0};
    uint64_t before = ll_heap_totals().mapped_bytes;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < BLOCKS; k++) {
            blocks[k] = take(&aged);
        }
        for (int k = 0; k < BLOCKS; k++) {
            if (k != i % BLOCKS || i % 100 != 0) {
                CHECK(ll_heap_release(blocks[k]));
            }
        }
    }
    CHECK(ll_heap_totals().mapped_bytes < before + (1 << 20));
}

static void allocations_are_counted(void) {
    struct ll_aged aged = {0};
    struct ll_heap_totals before = ll_heap_totals();
    char* block = take(&aged);
    ll_heap_release(take(&aged));
    struct ll_heap_totals now = ll_heap_totals();
    CHECK(now.allocations == before.allocations + 2 && now.frees == before.frees + 1);
    ll_heap_release(block);
}

static void freed_memory_is_used_again(void) {
    struct ll_aged churning = {0};
    uint64_t before = ll_heap_totals().mapped_bytes;
    for (int i = 0; i < 100 * MANY; i++) {
        char* block = take(&churning);
        CHECK(block != NULL);
        ll_heap_release(block);
    }
    CHECK(ll_heap_totals().mapped_bytes < before + (4 << 20));
}

static int compare(const void* one_place, const void* other_place) {
    uintptr_t first = *(const uintptr_t*)one_place;
    uintptr_t second = *(const uintptr_t*)other_place;
    return first < second ? -1 : first > second;
}

// Two blocks of three stay: the places between them are used again.
static void sparse_strips_are_filled_up(void) {
    enum { FREED = MANY / 3 };
    static char* kept[MANY];
    static char* freed[FREED];
    struct ll_aged aged = {0};
    for (int i = 0; i < MANY; i++) {
        kept[i] = take(&aged);
    }
    for (int i = 0; i < FREED; i++) {
        freed[i] = kept[3 * i];
        ll_heap_release(freed[i]);
    }
    qsort(freed, FREED, sizeof *freed, compare);
    int again = 0;
    for (int i = 0; i < FREED; i++) {
        kept[3 * i] = take(&aged);
        again += bsearch(&kept[3 * i], freed, FREED, sizeof *freed, compare) != NULL;
    }
    CHECK(again > FREED / 10 * 9);
    for (int i = 0; i < MANY; i++) {
        ll_heap_release(kept[i]);
    }
}

static char* mailbox[256];

static void* exchange(void* argument) {
    uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u + 1;
    for (int i = 0; i < MANY; i++) {
        char* block = take(&one);
        if (block == NULL) {
            continue;
        }
        memset(block, pattern_of((unsigned char*)block), BLOCK_BYTES);
        char** place = &mailbox[next_random(&random) % 256];
        char* old = __atomic_exchange_n(place, block, __ATOMIC_ACQ_REL);
        if (old != NULL) {
            struct patterned found = {(unsigned char*)old, BLOCK_BYTES, 1};
            CHECK(pattern_is_intact(found));
            CHECK(ll_heap_release(old));
        }
    }
    return NULL;
}

static void threads_free_each_others_blocks(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, exchange, (void*)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 256; i++) {
        ll_heap_release(mailbox[i]);
    }
}

static void what_is_no_block_is_not_freed(void) {
    char* block = take(&one);
    CHECK(!ll_heap_release(block + 16));
    CHECK(ll_heap_release(block));
    CHECK(!ll_heap_release(block));
}

int main(void) {
    CHECK(ll_page_states_start() && ll_aged_start(1) && ll_heap_start());
    blocks_of_two_contexts_share_no_page();
    blocks_of_a_page_lie_in_order_of_age();
    no_block_lies_on_two_pages();
    blocks_of_all_sizes_keep_apart();
    freed_memory_is_used_again();
    empty_pages_go_to_other_contexts();
    a_block_that_stays_keeps_its_page_only();
    allocations_are_counted();
    sparse_strips_are_filled_up();
    threads_free_each_others_blocks();
    what_is_no_block_is_not_freed();
    return failures != 0;
}
