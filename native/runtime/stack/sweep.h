// Sweeping: most stacks of a program are those of blocks that it freed long ago. When
// the trie has become large, nodes that nobody holds any more go, and the others move
// together and get new ids.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

// The trie is swept when it has so many ids; UINT32_MAX: not before that is changed.
extern _Atomic uint32_t ll_sweep_due;

// Whether nodes may be swept at all: then only one thread has to do with the trie.
bool ll_sweep_is_possible(void);

// Whether a sweep would do good now. Only a walk that has come to the outermost frame,
// in a process with one thread, may then sweep: no hook that a signal interrupted is
// about to use a node.
bool ll_sweep_is_due(void);

// Sweeps. All ids of nodes outside of the holders are void, those in walkers too.
void ll_sweep(void);
