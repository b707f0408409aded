// Blocks counted by kind and call stack, for the recording. When there are more groups
// than a reader can use, stacks are condensed until there are few enough, so neither
// memory nor recording grows with the number of blocks.
#pragma once
#include "heap/inspect.h"
#include "lens/condense.h"
#include "lens/group.h"
#include "lens/touched.h"

struct ll_tally {
    struct ll_groups groups;
    struct ll_condenser condenser;
    size_t groups_max; // condense beyond; 0: the usual limit
    // Blocks that are not lost are counted together, without their stacks, which make
    // up most of a recording.
    bool only_lost_by_stack;
    struct ll_touched touched; // while lens `accesses` is on
};

// Counts one block. `leader` is the stack of the lost block that leads to it, or 0.
void ll_tally_add(struct ll_tally* tally, struct ll_block block, uint32_t kind,
                  uint32_t leader);

// Notes what the lost block that was counted last leads to.
void ll_tally_add_led(struct ll_tally* tally, struct ll_block leader, uint64_t blocks,
                      uint64_t bytes);
