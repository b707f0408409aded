// What of a thread refers to a block: its registers and its stack.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "format/records.h"
#include "os/world.h"

struct ll_holder {
    uint32_t kind;   // LL_HOLDER_*
    uint32_t number; // DWARF number of the register
    int64_t from_sp; // of a slot: its address minus the stack pointer
};

// The first of the calling thread's slots above the stack pointer (or in its red zone),
// or else of its registers, that holds an address in [start, end]. Slots come first:
// they have names more often.
struct ll_holder ll_holder_find(const struct ll_registers* registers, bool red_zone,
                                uintptr_t start, uintptr_t end);
