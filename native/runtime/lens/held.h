// Blocks that only slots of stack frames hold. Such a slot may belong to no variable
// that is alive: the frame took it over from a function that returned. The reader of
// the recording decides that from debug information; here the blocks are only counted
// by what holds them. A *set* is all slots that point into one block.
#pragma once
#include "lens/group.h"
#include "lens/mark.h"
#include "lens/stopped_frames.h"

struct ll_held_slot {
    uintptr_t address;
    uintptr_t block; // start of the block it points into
    uint32_t frame;  // place in the list of frames
    uint32_t set;    // counted from 1
};

struct ll_held {
    struct ll_held_slot* slots; // by set; NULL if none
    size_t count;
    size_t capacity;
    // Counts by kind = set, stack, and leader = 1 for the block that the slots point
    // into, 0 for what it leads to.
    struct ll_groups groups;
};

// Marks what the frames hold and nothing else does, and counts what a single set holds.
// Expects blocks reached from all other roots to be marked; leaves every block REACHED
// or UNREACHED. False when that takes too much memory: marks are then useless, and the
// caller starts again without.
bool ll_held_find(struct ll_held* held, struct ll_marker* marker,
                  const struct ll_stopped_frames* frames);

// Writes the sets into the recording; the frames' nodes are made as needed.
void ll_held_write(struct ll_held* held, struct ll_stopped_frames* frames);

void ll_held_release(struct ll_held* held);
