// The memory of the stacks that a thread runs on. Walks read nothing outside of it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

// [low, high), in which everything at or above the stack pointer is readable.
struct ll_stack_bounds {
    uintptr_t low;
    uintptr_t high;
};

LL_INLINE bool ll_bounds_contain(struct ll_stack_bounds bounds, uintptr_t address) {
    return address - bounds.low < bounds.high - bounds.low;
}

// Stacks other than the thread's own: a signal stack, coroutines'. Nobody says where
// they end, so memory above the stack pointer is tried page by page, as far as walks
// need it. Kept outside of thread-local storage, since such a stack may be a block.
enum { LL_OTHER_STACKS = 16 };
struct ll_other_stacks {
    struct ll_stack_bounds bounds[LL_OTHER_STACKS];
    unsigned next; // the one to replace next
};

// Asks the kernel, without a file and without a fault.
bool ll_address_is_readable(uintptr_t address);

// The calling thread's own stack.
void ll_bounds_set_own(uintptr_t low, uintptr_t high);

// The bounds of the calling thread's stack that holds `sp`.
bool ll_bounds_at(struct ll_other_stacks* others, uintptr_t sp,
                  struct ll_stack_bounds* bounds);

// The same for any stack, which may belong to a stopped thread.
bool ll_bounds_of_other(struct ll_other_stacks* others, uintptr_t sp,
                        struct ll_stack_bounds* bounds);

// Makes the bounds reach beyond `address` if the memory up to there is readable.
bool ll_bounds_widen(struct ll_other_stacks* others, uintptr_t address,
                     struct ll_stack_bounds* bounds);
