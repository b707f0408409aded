// Which calls free the blocks of an allocation stack: where a block that was forgotten
// should have been freed, its siblings show. For lens `accesses`.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arm/clock.h"
#include "base/attributes.h"

// Gets the table. False without memory.
bool ll_siblings_start(void);

// Whether the stack that frees the block is worth taking: the first frees of each
// allocation stack are, later one in many. Of programs that free much some frees are
// not even looked at.
bool ll_siblings_look_at(const void* block);

LL_INLINE bool ll_siblings_want(const void* block) {
    return LL_UNLIKELY(__atomic_load_n(&ll_looks_left, __ATOMIC_RELAXED) != 0) &&
           ll_siblings_look_at(block);
}

// A block is about to be freed by the call stack `freed`.
void ll_siblings_note(const void* block, uint32_t freed);

// Writes the frees of one allocation stack, once per look; `look` tells looks apart.
void ll_siblings_write(uint32_t stack, uint32_t look);
