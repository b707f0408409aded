// Delayed frees, for a second run that follows single blocks: a dangling pointer to a
// block that was just freed would look like a reference to the next one at its address.
#pragma once
#include <stdbool.h>

// From now on frees are delayed. Before the program's first instruction.
void ll_delays_start(void);

// Keeps a block that the program frees, whose words refer to nothing any more, until
// many others were freed. False when it has to be freed now.
bool ll_delays_keep(void* block);
