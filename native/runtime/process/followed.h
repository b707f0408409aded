// A target of a watch list and its block: what became of it, and the way there.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "lens/holders.h"

// The steps kept of each block: the last ones count.
enum { LL_STEPS_KEPT = 64 };

struct ll_followed_step {
    uintptr_t pc;
    struct ll_holder holder;
    int64_t rbp_from_sp;
};

struct ll_followed {
    uint32_t state;   // LL_REFINED_*: held from the birth of the block on
    uint32_t site;    // node of the target's stack
    uint32_t trigger; // node of the loss behind which it is followed; 0: its birth
    bool is_followed; // points are met
    int thread;
    uintptr_t block;
    uintptr_t end;
    uintptr_t stack_pointer; // when following it began
    uint32_t marks;
    uint32_t blocks_met; // of the target's call stack that were watched in vain
    uint32_t to_pass;    // blocks to let go by before the next one is watched
    uint32_t waited;     // blocks of the call stack since memory holds this one
    uint32_t loss;       // node of the call stack at the loss
    uint32_t steps_taken;
    struct ll_followed_step steps[LL_STEPS_KEPT];
};

// Writes what is known of the block of a target, by its number in the list.
void ll_followed_record(const struct ll_followed* followed, uint32_t target);
