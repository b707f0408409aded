// An arena is a table that only grows: its address never changes, and its pages are
// committed in steps that grow with it.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct ll_arena {
    char* start;
    size_t used_bytes;
    size_t committed_bytes;
    size_t limit_bytes;
    size_t twin_distance; // to a second table that grows along, 0 when there is none
};

// Sets address space aside; commits nothing.
bool ll_arena_start(struct ll_arena* arena, size_t limit_bytes);

// The same at a place that was set aside already.
void ll_arena_start_at(struct ll_arena* arena, char* start, size_t limit_bytes,
                       size_t twin_distance);

// The next `size_bytes` of the arena, zeroed; NULL when memory ran out.
void* ll_arena_take(struct ll_arena* arena, size_t size_bytes);

// Bytes by which something of that size is to grow, at least `needed_bytes`: small
// things in small steps, so that little is committed in vain. Multiple of a unit.
size_t ll_arena_step(size_t size_bytes, size_t needed_bytes);
