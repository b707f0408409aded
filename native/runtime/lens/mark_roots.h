// Floods from all roots of a stopped world.
#pragma once
#include "lens/mark.h"
#include "lens/reach.h"

struct ll_roots_seen {
    bool complete;         // false: the process's memory could not be listed at all
    uint64_t unread_bytes; // of roots that could not be read
};

struct ll_roots_seen ll_mark_roots(struct ll_marker* marker, const struct ll_look* look,
                                   const struct ll_world* world);
