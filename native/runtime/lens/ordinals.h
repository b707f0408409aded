// Numbers the allocations of each call stack, so that a second run of the program can
// find the same block again.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// True once ll_ordinals_start has succeeded.
extern bool ll_ordinals_on;

// Begins to count. False without memory.
bool ll_ordinals_start(void);

// The number of a block that is born: 1 for the first of its call stack.
uint32_t ll_ordinals_next(uintptr_t block);

// A block goes.
void ll_ordinals_freed(uintptr_t block);

// Who wants to know of each; at most one.
typedef void ll_birth_follower(uintptr_t block, uint32_t site, uint32_t ordinal);
typedef void ll_freed_follower(uintptr_t block);
void ll_ordinals_follow(ll_birth_follower* birth, ll_freed_follower* freed);
