// Whole call stacks of the stores that lose or create references, on request: every
// stamp and birth then holds the node of the caller's stack instead of its address.
#pragma once
#include <stdbool.h>

// Before the hooks start. False when that is not possible here.
bool ll_loss_stacks_start(void);

// Modules were unloaded: places may soon stand for other stores.
void ll_loss_stacks_forget(void);
