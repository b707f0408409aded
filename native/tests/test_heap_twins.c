// The second word of each block, which belongs to a lens.
#include <stdint.h>

#include "check.h"
#include "heap/heap.h"
#include "heap/inspect.h"

enum { BLOCKS = 60000, SIZE_STEPS = 97, LARGE = 1 << 20 };

static void* blocks[BLOCKS];

static size_t size_of(uint32_t number) {
    return number % 5000 == 0 ? LARGE : (size_t)(number % SIZE_STEPS + 1) * 8;
}

static uint64_t* twin_of(const void* start) {
    struct ll_block block;
    CHECK(ll_block_locate((uintptr_t)start, &block));
    return ll_block_twin(block);
}

static void allocate(uint32_t number) {
    blocks[number] = ll_heap_allocate(size_of(number), 7);
    CHECK(blocks[number] != NULL);
    *twin_of(blocks[number]) = UINT64_MAX - number;
}

static void test_twins_keep_what_is_written_to_them(void) {
    for (uint32_t i = 0; i < BLOCKS; i++) {
        allocate(i);
    }
    // Spans become empty, are purged and used again.
    for (uint32_t i = 0; i < BLOCKS; i += 2) {
        CHECK(ll_heap_release(blocks[i]));
    }
    for (uint32_t i = 0; i < BLOCKS; i += 2) {
        allocate(i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        struct ll_block block;
        CHECK(*twin_of(blocks[i]) == UINT64_MAX - i);
        CHECK(ll_block_at((uintptr_t)blocks[i], &block));
        CHECK(ll_block_site(block) == 7 && ll_block_size(block) == size_of(i));
    }
}

static void test_a_twin_is_at_another_place_of_its_page_than_its_word(void) {
    struct ll_block block;
    CHECK(ll_block_locate((uintptr_t)blocks[1], &block));
    uintptr_t distance =
        (uintptr_t)ll_block_twin(block) - (uintptr_t)&block.span->words[block.index];
    CHECK(distance % 4096 >= 64 && distance % 4096 <= 4096 - 64);
}

int main(void) {
    ll_heap_keep_twins();
    CHECK(ll_heap_start());
    test_twins_keep_what_is_written_to_them();
    test_a_twin_is_at_another_place_of_its_page_than_its_word();
    return failures != 0;
}
