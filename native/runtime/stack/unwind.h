// One step from a frame to its caller by a row of call frame information, with every
// register that is known. The slow and complete way; captures use cached rules.
#pragma once
#include "stack/bounds.h"
#include "stack/cfi.h"

// A frame's registers by DWARF number, the code address last.
struct ll_unwind_state {
    uint64_t registers[LL_CFI_REGISTERS];
    uint32_t known; // bit per register
    uint32_t flags; // LL_NODE_exact_pc, LL_NODE_signal: of this frame
};

// What a step gave: a caller, the end of the stack, or a reason (LL_STOP_*) to stop.
enum ll_step { LL_STEP_CALLER, LL_STEP_END, LL_STEP_STOPPED, LL_STEP_NEEDS_REGISTER };

// How a step reads memory: only inside `bounds`, and each word it read is told to
// `seen`, so that a later look can tell whether the step would go the same way.
struct ll_stack_reader {
    struct ll_stack_bounds bounds;
    uint32_t wanted; // bit per register that is to be found for the caller
    void (*seen)(void* context, uintptr_t address, uint64_t value);
    void* context;
    uintptr_t beyond; // what it would have read above the bounds; 0 if nothing
};

enum {
    LL_ALL_REGISTERS = (1 << LL_CFI_REGISTERS) - 1,
    // What captures follow.
    LL_CAPTURE_REGISTERS = 1 << LL_RSP | 1 << LL_RBP | 1 << LL_CFI_RETURN_ADDRESS,
};

bool ll_stack_read(struct ll_stack_reader* reader, uintptr_t address, uint64_t* value);

// Moves `state` to the caller. `reason` says why not, with LL_STEP_STOPPED.
enum ll_step ll_unwind_apply(const struct ll_cfi_row* row,
                             struct ll_stack_reader* reader,
                             struct ll_unwind_state* state, uint16_t* reason);

// Finds the row for the state's code address and applies it. Widens the reader's bounds
// where the stack is one of `others` and goes on.
enum ll_step ll_unwind_caller(struct ll_other_stacks* others,
                              struct ll_stack_reader* reader,
                              struct ll_unwind_state* state, uint16_t* reason);

// A DWARF expression at `start`, its length in front. `initial` is on its stack first.
// False when it uses what we do not know.
bool ll_expression_value(const uint8_t* start, const uint8_t* end,
                         struct ll_stack_reader* reader,
                         const struct ll_unwind_state* state, uint64_t initial,
                         uint64_t* result);

// A load that sanitizers do not see: stack slots may lie in what they call redzones.
static inline uint64_t ll_stack_load(uintptr_t address) {
    uint64_t value;
    __asm__("movq %1, %0" : "=r"(value) : "m"(*(const uint64_t*)address));
    return value;
}
