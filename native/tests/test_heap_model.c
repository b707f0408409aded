// The heap against a plain model of it: random operations on one thread, after each of
// which the block concerned is what the model says, and from time to time all of them.
#include <stdlib.h>

#include "blocks.h"
#include "check.h"
#include "heap/inspect.h"

// ThreadSanitizer checks every byte that the patterns touch.
#ifdef __SANITIZE_THREAD__
enum { STEPS = 30000 };
#else
enum { STEPS = 200000 };
#endif
enum { BLOCKS_MAX = 4000 };

static struct patterned model[BLOCKS_MAX];
static size_t model_count;
static uint32_t random_state = 12345;
static uint32_t next_site = 1;
static size_t words_told; // of resized blocks

static void check_block(struct patterned expected) {
    struct ll_block block;
    uintptr_t start = (uintptr_t)expected.start;
    uintptr_t inside = start + next_random(&random_state) % (expected.size_bytes + 1);
    CHECK(ll_block_at(inside, &block));
    CHECK(ll_block_start(block) == start);
    CHECK(ll_block_size(block) == expected.size_bytes);
    CHECK(ll_block_site(block) == expected.site);
    CHECK(ll_block_mark(block) == 0);
    CHECK(!ll_block_is_ignored(block) && !ll_block_is_inherited(block));
    CHECK(pattern_is_intact(expected));
}

static void adopt(unsigned char* start, size_t size_bytes, uint32_t site) {
    CHECK(start != NULL);
    CHECK((uintptr_t)start % 16 == 0);
    struct patterned block = {start, size_bytes, site};
    pattern_fill(block);
    model[model_count++] = block;
    check_block(block);
}

static void allocate(void) {
    size_t size = random_size(&random_state);
    uint32_t site = next_site++;
    adopt(ll_heap_allocate(size, site), size, site);
}

static void allocate_zeroed(void) {
    size_t size = random_size(&random_state);
    uint32_t site = next_site++;
    unsigned char* start = ll_heap_allocate_zeroed(size, site);
    CHECK(pattern_holds(start, 0, size));
    adopt(start, size, site);
}

static void allocate_aligned(void) {
    size_t size = random_size(&random_state);
    size_t alignment = (size_t)16 << next_random(&random_state) % 15;
    uint32_t site = next_site++;
    unsigned char* start = ll_heap_allocate_aligned(size, alignment, site);
    CHECK((uintptr_t)start % alignment == 0);
    adopt(start, size, site);
}

static void release(void) {
    size_t i = next_random(&random_state) % model_count;
    struct patterned block = model[i];
    check_block(block);
    struct ll_block inside;
    CHECK(!ll_block_starting_at(block.start + 8, &inside));
    CHECK(!ll_heap_release(block.start + 8));
    CHECK(ll_heap_release(block.start));
    struct ll_block none;
    CHECK(!ll_block_at((uintptr_t)block.start, &none));
    CHECK(!ll_block_starting_at(block.start, &none));
    CHECK(!ll_heap_release(block.start));
    model[i] = model[--model_count];
}

static void reallocate(void) {
    struct patterned* block = &model[next_random(&random_state) % model_count];
    size_t size = random_size(&random_state);
    size_t kept = size < block->size_bytes ? size : block->size_bytes;
    unsigned char old_pattern = pattern_of(block->start);
    uint32_t site = next_site++;
    const unsigned char* before = block->start;
    struct ll_block known;
    CHECK(ll_block_starting_at(before, &known));
    bool stays = ll_block_shrinks_in_place(known, size);
    CHECK(!stays || size <= block->size_bytes);
    struct ll_resized resized = ll_heap_reallocate(block->start, size, site);
    unsigned char* start = resized.block;
    CHECK(!stays || start == before);
    CHECK(ll_block_starting_at(start, &known));
    CHECK(resized.word == NULL || resized.word == &known.span->words[known.index]);
    words_told += resized.word != NULL;
    CHECK(pattern_holds(start, old_pattern, kept));
    *block = (struct patterned){start, size, site};
    pattern_fill(*block);
    check_block(*block);
}

static int by_address(const void* left, const void* right) {
    const struct patterned* a = left;
    const struct patterned* b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

struct walk {
    size_t count;
    bool agrees;
};

static bool compare_with_model(struct ll_block block, void* context) {
    struct walk* walk = context;
    walk->agrees &= walk->count < model_count &&
                    (uintptr_t)model[walk->count].start == ll_block_start(block) &&
                    model[walk->count].site == ll_block_site(block);
    walk->count++;
    return true;
}

static void check_all(void) {
    qsort(model, model_count, sizeof model[0], by_address);
    struct walk walk = {0, true};
    ll_heap_visit(compare_with_model, &walk);
    CHECK(walk.agrees);
    CHECK(walk.count == model_count);
    uint64_t bytes = 0;
    for (size_t i = 0; i < model_count; i++) {
        check_block(model[i]);
        bytes += model[i].size_bytes;
    }
    struct ll_heap_totals totals = ll_heap_totals();
    CHECK(totals.live_blocks == model_count);
    CHECK(totals.live_bytes == bytes);
    CHECK(totals.allocations - totals.frees == model_count);
    CHECK(totals.mapped_bytes >= totals.live_bytes);
}

static void step(void) {
    uint32_t choice = next_random(&random_state) % 16;
    if (model_count == 0 || (choice < 9 && model_count < BLOCKS_MAX)) {
        void (*ways[])(void) = {allocate, allocate, allocate_zeroed, allocate_aligned};
        ways[choice % 4]();
    } else if (choice < 14) {
        release();
    } else {
        reallocate();
    }
}

static void marks_belong_to_their_block(void) {
    for (size_t i = 0; i < model_count; i++) {
        struct ll_block block;
        CHECK(ll_block_at((uintptr_t)model[i].start, &block));
        ll_block_set_mark(block, 1 + (unsigned)(i % 3));
    }
    for (size_t i = 0; i < model_count; i++) {
        struct ll_block block;
        CHECK(ll_block_at((uintptr_t)model[i].start, &block));
        CHECK(ll_block_mark(block) == 1 + (unsigned)(i % 3));
        CHECK(ll_block_site(block) == model[i].site);
    }
    ll_heap_clear_marks();
    check_all();
}

static void other_addresses_are_no_blocks(void) {
    struct ll_block block;
    int local = 0;
    CHECK(!ll_block_at((uintptr_t)&local, &block));
    CHECK(!ll_block_at(0, &block));
    CHECK(!ll_block_at(UINTPTR_MAX, &block));
    CHECK(!ll_heap_release(&local));
    CHECK(!ll_heap_release(NULL));
    CHECK(ll_heap_reallocate(&local, 10, 1).block == NULL);
    uintptr_t end = ll_range.start + ll_range.used_bytes;
    CHECK(ll_is_heap_address(end - 1));
    CHECK(!ll_block_at(end, &block));
}

static void usable_size_becomes_the_size(void) {
    for (size_t size = 0; size < 200000; size += 1 + size / 9) {
        unsigned char* block = ll_heap_allocate(size, 1);
        size_t usable = ll_heap_usable_size(block);
        CHECK(usable >= size);
        struct ll_block found;
        CHECK(ll_block_at((uintptr_t)block, &found));
        CHECK(ll_block_size(found) == usable);
        memset(block, 1, usable);
        CHECK(ll_heap_release(block));
    }
    CHECK(ll_heap_usable_size(&model) == 0);
}

static void new_blocks_are_ignored_while_asked_for(void) {
    struct ll_block block;
    ll_heap_ignore_new(true);
    void* small = ll_heap_allocate(10, 1);
    void* large = ll_heap_allocate(100000, 1);
    ll_heap_ignore_new(false);
    void* plain = ll_heap_allocate(10, 1);
    CHECK(ll_block_at((uintptr_t)small, &block) && ll_block_is_ignored(block));
    CHECK(ll_block_at((uintptr_t)large, &block) && ll_block_is_ignored(block));
    CHECK(ll_block_at((uintptr_t)plain, &block) && !ll_block_is_ignored(block));
    CHECK(ll_heap_ignore(plain));
    CHECK(ll_block_at((uintptr_t)plain, &block) && ll_block_is_ignored(block));
    CHECK(ll_heap_release(small) && ll_heap_release(large) && ll_heap_release(plain));
}

static void impossible_sizes_are_refused(void) {
    CHECK(ll_heap_allocate(SIZE_MAX, 1) == NULL);
    CHECK(ll_heap_allocate((size_t)PTRDIFF_MAX + 1, 1) == NULL);
    CHECK(ll_heap_allocate((size_t)1 << 46, 1) == NULL);
    CHECK(ll_heap_allocate_zeroed(SIZE_MAX - 100, 1) == NULL);
    CHECK(ll_heap_allocate_aligned(SIZE_MAX / 2, (size_t)1 << 62, 1) == NULL);
    CHECK(ll_heap_allocate_aligned(100, (size_t)1 << 63, 1) == NULL);
}

int main(void) {
    CHECK(ll_heap_start() && ll_heap_start());
    for (int i = 0; i < STEPS && failures == 0; i++) {
        step();
        if (i % (STEPS / 10) == 0) {
            check_all();
        }
    }
    check_all();
    CHECK(words_told > 0);
    marks_belong_to_their_block();
    other_addresses_are_no_blocks();
    new_blocks_are_ignored_while_asked_for();
    usable_size_becomes_the_size();
    impossible_sizes_are_refused();
    while (model_count > 0 && failures == 0) {
        release();
    }
    check_all();
    return failures != 0;
}
