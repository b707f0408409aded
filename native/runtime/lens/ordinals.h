// Numbers the allocations of each call stack, so that a second run of the program can
// find the same block again.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// True once ll_ordinals_start has succeeded.
extern bool ll_ordinals_on;

// Begins to count. False without memory.
bool ll_ordinals_start(void);

// A block is born and gets its number.
void ll_ordinals_born(uintptr_t block);

// The number of a live block: 1 for the first of its call stack, 0 if it has none.
uint32_t ll_ordinal_of(uintptr_t block);

// A block goes.
void ll_ordinals_freed(uintptr_t block);

// A reference goes because the call stack `site` frees the block that holds it.
void ll_ordinals_lost(uintptr_t pointer, uint32_t site);

// Who wants to know of each; at most one.
typedef void ll_birth_follower(uintptr_t block, uint32_t site, uint32_t ordinal);
typedef void ll_freed_follower(uintptr_t block);
typedef void ll_loss_follower(uintptr_t pointer, uint32_t site);
void ll_ordinals_follow(ll_birth_follower* birth, ll_freed_follower* freed,
                        ll_loss_follower* loss);
