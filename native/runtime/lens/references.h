// Which slots refer to blocks that are not lost, on request: variables of modules, and
// words of other blocks. What stacks and registers hold is told elsewhere (held.h).
#pragma once
#include <stdint.h>

#include "lens/group.h"

struct ll_references {
    struct ll_groups groups; // by what refers to what, see references.c
};

// Counts the references to all blocks that bear the mark REACHED.
void ll_references_find(struct ll_references* references);

// Writes one record for each kind of reference; the list is empty then.
void ll_references_write(struct ll_references* references);
