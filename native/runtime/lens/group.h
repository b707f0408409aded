// Blocks counted by what they have in common, so that a recording grows with the number
// of call stacks and not with the number of blocks. Memory comes from the system.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the blocks of a group share. For blocks by kind: the kind, the allocation stack
// and the stack of the lost block that leads to them. Lenses may count by other things.
struct ll_group_key {
    uint32_t kind; // never 0
    uint32_t stack;
    uint32_t leader;
    uint32_t loss;  // where the last reference went, 0 if not known
    uint32_t cause; // LL_CAUSE_*
    // Of the slot in the container that was freed; 0 for other causes.
    uint32_t loss_offset;
};

struct ll_group {
    struct ll_group_key key; // kind 0: the place in the table is free
    uint64_t blocks;
    uint64_t bytes;
    uint64_t indirect_blocks; // led to by the blocks of this group
    uint64_t indirect_bytes;
    uint64_t address; // of one of the blocks
};

struct ll_groups {
    struct ll_group* table; // open addressing; NULL while empty
    size_t capacity;        // a power of two, or 0
    size_t count;
    struct ll_group* recent; // the last one found: blocks come in runs
    uint64_t dropped;        // blocks not counted since memory ran out
};

// The group of `key`, made if need be; NULL, and one more dropped, without memory.
// Valid until the next call.
struct ll_group* ll_groups_find(struct ll_groups* groups,
                                const struct ll_group_key* key);

// Counts one block.
void ll_groups_add(struct ll_groups* groups, const struct ll_group_key* key,
                   uint64_t size_bytes, uint64_t address);

// The groups in an order that depends only on their keys; call it once all is counted.
// The table is then a plain array of `count` groups.
struct ll_group* ll_groups_sorted(struct ll_groups* groups);

void ll_groups_release(struct ll_groups* groups);
