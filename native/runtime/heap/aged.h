// Blocks of one *context* (the innermost frames of their allocation's stack) and one
// class fill strips (heap/strips.h) in order of age, so that what is used alike and has
// lived alike shares pages. A *cursor* goes through one strip at a time. Places of
// freed blocks are used again on strips that are empty, or a quarter empty and
// then only on pages that are in use anyhow: nothing new comes to lie beside old blocks
// that nobody touches.
#pragma once
#include "heap/heap.h"
#include "heap/span.h"
#include "os/lock.h"
#include "os/shelves.h"

// All cursors of one context. All zeros to begin with.
struct ll_aged {
    struct ll_cursor* cursors;
};

// Guards the making of cursors; nests outside the lock of the units.
extern struct ll_lock ll_aged_lock;

// Takes address space for cursors and strips, which are to have so many pages at least;
// before the heap's start. False when there is none.
bool ll_aged_start(size_t least_pages);

// A block of the context; none when memory ran out or somebody else, or the code that
// this signal handler interrupted, is at work there.
struct ll_taken ll_aged_allocate(struct ll_aged* aged, unsigned class,
                                 size_t size_bytes, ll_site site);

// Frees the block that starts there; false when none does.
bool ll_aged_release(struct ll_span* span, const void* block);

// Blocks that were allocated so far. Near the truth while others go on.
uint64_t ll_aged_allocations(void);

// What live blocks use of a page, and their class. False unless the page belongs to a
// closed strip whose blocks are small enough to share a page. For a stopped world.
bool ll_aged_use_of_page(uintptr_t page, struct ll_granules* used, uint32_t* class);

// Whether the strip of an address is such a one and a quarter of it or more is free, as
// far as can be told while others work on it.
bool ll_aged_is_sparse(uintptr_t address);

// In a forked child: strips stay, but no new block is aged and none is given back, for
// other threads may have been in the middle of it.
void ll_aged_fork_child(void);
