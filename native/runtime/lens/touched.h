// Lens `accesses` at a look: blocks counted by kind, allocation, last access and how
// long they were idle, so that a recording does not grow with the number of blocks.
#pragma once
#include "heap/inspect.h"

struct ll_touched_group;

struct ll_touched {
    struct ll_touched_group* table; // open addressing; NULL while empty
    size_t capacity;
    size_t count;
    uint64_t dropped;        // blocks not counted since memory ran out
    uint32_t look;           // number of the look
    uint32_t contradictions; // blocks idle for longer by lens pages than by us
    uint64_t now_ns;         // CPU time of the process at the look
};

// Counts one block; `stack` is its allocation, perhaps condensed.
void ll_touched_add(struct ll_touched* touched, struct ll_block block, uint32_t kind,
                    uint32_t stack);

// Writes all groups, and how the sampling went; then forgets them.
void ll_touched_write(struct ll_touched* touched);
