// The memory of a thread's current stack. Walks read nothing outside of it.
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

// The stack that holds `sp`: the calling thread's own, a signal stack or a coroutine's.
// The latter two are looked up in the list of mappings and remembered per thread.
bool ll_bounds_at(uintptr_t sp, struct ll_stack_bounds* bounds);

// The same for a stack that may belong to another, stopped thread; remembers nothing.
bool ll_bounds_of_mapping(uintptr_t sp, struct ll_stack_bounds* bounds);

// The calling thread's own stack.
void ll_bounds_set_own(uintptr_t low, uintptr_t high);
