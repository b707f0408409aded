// Lens `loss`: where the last reference to a lost block went, from its stamps.
#pragma once
#include "heap/inspect.h"
#include "lens/group.h"

// Adds cause and place of the loss to what a lost block is counted by.
void ll_loss_describe(struct ll_block block, struct ll_group_key* key);

// The node of the store that created the reference which a lost block lost last; 0 when
// births are not noted, or this one was not seen.
uint32_t ll_loss_birth(struct ll_block block);

// The node of the store that put the pointer into a slot; 0 when it is not known.
uint32_t ll_birth_of_slot(uintptr_t slot, uintptr_t pointer);
