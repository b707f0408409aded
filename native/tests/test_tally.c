// A program with a stack of its own for every block: the groups stay few, every block
// is still counted, and the frames that matter are still there.
#include "lens/tally.h"

#include "check.h"
#include "format/records.h"
#include "stack/stack.h"

enum { BLOCKS = 5000, DEPTH = 40, GROUPS_MAX = 300 };

static uint64_t random_state = 1;

static unsigned random_below(unsigned bound) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(random_state >> 33) % bound;
}

// A stack of a recursion with two call sites that ends in one of three functions.
static uint32_t random_stack(void) {
    uint32_t node = 0;
    for (unsigned i = 0; i + 1 < DEPTH; i++) {
        node = ll_stack_child(node, i < 3 ? 0x1000 + i : 0x2000 + random_below(2), 0);
    }
    return ll_stack_child(node, 0x3000 + random_below(3), 0);
}

static struct ll_block random_block(void) {
    struct ll_block block;
    void* memory = ll_heap_allocate(10, random_stack());
    CHECK(ll_block_at((uintptr_t)memory, &block));
    return block;
}

static unsigned stack_length(uint32_t node, unsigned* folds) {
    unsigned length = 0;
    struct ll_node found;
    for (*folds = 0; node != 0 && ll_node_get(node, &found); node = found.parent) {
        *folds += (found.flags & LL_NODE_folded) != 0;
        length++;
    }
    return length;
}

static void check_condensed(uint32_t node) {
    struct ll_node innermost;
    unsigned folds;
    CHECK(ll_node_get(node, &innermost));
    CHECK(innermost.pc >= 0x3000 && innermost.pc < 0x3003);
    CHECK(stack_length(node, &folds) < DEPTH && folds == 1);
}

static void many_stacks_become_few_groups(void) {
    struct ll_tally tally = {.groups_max = GROUPS_MAX};
    uint32_t leader = random_stack();
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct ll_block block = random_block();
        if (i % 2 == 0) {
            ll_tally_add(&tally, block, LL_GROUP_lost, 0);
            ll_tally_add_led(&tally, block, 2, 7);
        } else {
            ll_tally_add(&tally, block, LL_GROUP_indirect, leader);
        }
    }
    CHECK(tally.groups.count <= GROUPS_MAX && tally.groups.count > 10);
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    uint64_t led_blocks = 0;
    uint64_t led_bytes = 0;
    const struct ll_group* group = ll_groups_sorted(&tally.groups);
    for (size_t i = 0; i < tally.groups.count; i++, group++) {
        blocks += group->blocks;
        bytes += group->bytes;
        led_blocks += group->indirect_blocks;
        led_bytes += group->indirect_bytes;
        check_condensed(group->key.stack);
        CHECK((group->key.leader != 0) == (group->key.kind == LL_GROUP_indirect));
    }
    CHECK(blocks == BLOCKS && bytes == BLOCKS * 10);
    CHECK(led_blocks == BLOCKS && led_bytes == BLOCKS / 2 * 7);
    ll_groups_release(&tally.groups);
}

static void few_stacks_stay_whole(void) {
    struct ll_tally tally = {.groups_max = GROUPS_MAX};
    for (unsigned i = 0; i < GROUPS_MAX / 2; i++) {
        ll_tally_add(&tally, random_block(), LL_GROUP_reachable, 0);
    }
    CHECK(tally.groups.count == GROUPS_MAX / 2);
    const struct ll_group* group = ll_groups_sorted(&tally.groups);
    for (size_t i = 0; i < tally.groups.count; i++, group++) {
        unsigned folds;
        CHECK(stack_length(group->key.stack, &folds) == DEPTH && folds == 0);
    }
    ll_groups_release(&tally.groups);
}

int main(void) {
    CHECK(ll_heap_start() && ll_stack_start(64));
    many_stacks_become_few_groups();
    few_stacks_stay_whole();
    return failures != 0;
}
