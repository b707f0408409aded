// Floods from the memory of the process: every mapping that can hold the program's
// pointers, page by page as far as there is memory behind it.
#pragma once
#include "lens/holes.h"
#include "lens/mark.h"

struct ll_mappings {
    // What the caller sets.
    struct ll_marker* marker;
    const struct ll_holes* holes; // left out
    bool may_vanish; // threads run on, so memory may be unmapped while it is read
    // What comes back.
    bool listed;           // false: the mappings could not be listed at all
    uint64_t unread_bytes; // of memory that counts but could not be read
};

void ll_mark_mappings(struct ll_mappings* mappings);
