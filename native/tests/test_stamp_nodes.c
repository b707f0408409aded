// Stamps hold call stacks: a sweep of the trie keeps those of the latest stamp of every
// block, under their new numbers, and gives up those of stamps that nobody reads.
#include "check.h"
#include "heap/inspect.h"
#include "lens/stamps.h"
#include "process/sites.h"
#include "stack/stack.h"
#include "stack/sweep.h"
#include "stack/trie.h"

enum { CONTAINERS = 200, WORDS = 8, MANY = 5000 };

static uint32_t stack_of(uintptr_t pc) {
    return ll_trie_child(0, ll_node_key_of(pc, 0, 0));
}

static uintptr_t pc_of(uint32_t node) {
    struct ll_node found = {0};
    CHECK(ll_node_get(node, &found));
    return found.pc;
}

static uintptr_t allocate(uintptr_t pc) {
    void* block = ll_heap_allocate(WORDS * sizeof(uint64_t), stack_of(pc));
    CHECK(block != NULL);
    ll_stamp_birth((uintptr_t)block);
    return (uintptr_t)block;
}

static struct ll_stamp latest(uintptr_t block) {
    return ll_stamp_latest(block, WORDS * sizeof(uint64_t));
}

// A container that holds `pointer` is freed by the stack `pc`.
static void free_container_of(uintptr_t pointer, uintptr_t pc) {
    uint64_t* words = (uint64_t*)allocate(0x1000);
    words[3] = pointer;
    ll_stamp_freed((uintptr_t)words, (uintptr_t)words, (uintptr_t)(words + WORDS),
                   stack_of(pc));
    CHECK(ll_heap_release(words));
}

static void fill_with_nodes_that_nobody_holds(uintptr_t from) {
    for (uintptr_t i = 0; i < MANY; i++) {
        CHECK(stack_of(from + 16 * i) != 0);
    }
}

static void the_latest_stamp_keeps_its_stack(void) {
    uintptr_t blocks[CONTAINERS];
    for (unsigned i = 0; i < CONTAINERS; i++) {
        fill_with_nodes_that_nobody_holds(0x2000000 * (uintptr_t)(i + 1));
        blocks[i] = allocate(0x3000 + i);
        // Two granules of one block: only the second loss is ever told.
        free_container_of(blocks[i], 0x10000 + i);
        free_container_of(blocks[i] + 32, 0x20000 + i);
    }
    struct ll_stamp before = latest(blocks[7]);
    ll_sweep();
    // One more for the containers, which all have the same stack and are gone.
    CHECK(ll_node_count() <= 2 * CONTAINERS + 1);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        struct ll_stamp stamp = latest(blocks[i]);
        CHECK(stamp.cause == LL_STAMP_freed && stamp.granule == blocks[i] + 32);
        CHECK(stamp.offset == 24 && pc_of(stamp.place) == 0x20000 + i);
    }
    CHECK(latest(blocks[7]).clock == before.clock);
    CHECK(latest(blocks[7]).place != before.place);
}

static void stamps_of_freed_blocks_hold_nothing(void) {
    uintptr_t block = allocate(0x4000);
    free_container_of(block, 0x40000);
    CHECK(ll_heap_release((void*)block));
    uint32_t before = ll_node_count();
    ll_sweep();
    CHECK(ll_node_count() < before);
    // The next block there begins anew, whatever the old stamp says.
    uintptr_t next = allocate(0x5000);
    CHECK(latest(next).cause == LL_STAMP_none);
    ll_sweep();
    CHECK(latest(next).cause == LL_STAMP_none);
}

static void a_stamp_from_before_a_sweep_does_no_harm(void) {
    uintptr_t block = allocate(0x6000);
    ll_stamp_gone(0, block, 0x7fffffff); // a node that there is not
    ll_sweep();
    CHECK(latest(block).cause == LL_STAMP_unmapped && latest(block).place == 0);
}

#ifdef __SANITIZE_THREAD__
enum { SHADOW_IS_TAKEN = 1 }; // ThreadSanitizer keeps its own tables there
#else
enum { SHADOW_IS_TAKEN = 0 };
#endif

int main(void) {
    if (SHADOW_IS_TAKEN) {
        return 0;
    }
    ll_heap_align_blocks(LL_GRANULE_BYTES);
    CHECK(ll_heap_start() && ll_stack_start(64) && ll_stamps_start());
    ll_sites_let_sweep();
    the_latest_stamp_keeps_its_stack();
    stamps_of_freed_blocks_hold_nothing();
    a_stamp_from_before_a_sweep_does_no_harm();
    return failures != 0;
}
