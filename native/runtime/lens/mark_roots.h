// Floods from all roots of a stopped world.
#pragma once
#include "lens/mark.h"
#include "lens/reach.h"
#include "lens/stopped_frames.h"

struct ll_roots_seen {
    bool complete;         // false: the process's memory could not be listed at all
    uint64_t unread_bytes; // of roots that could not be read
};

// When `frames` is given, it receives the frames of all threads, and their slots are
// left out.
struct ll_roots_seen ll_mark_roots(struct ll_marker* marker, const struct ll_look* look,
                                   const struct ll_world* world,
                                   struct ll_stopped_frames* frames);
