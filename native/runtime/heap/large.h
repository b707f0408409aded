// Blocks that are too large for a class: each is a span of its own. Pages appear as
// they are touched.
#pragma once
#include "heap/local.h"
#include "heap/units.h"

struct ll_large_request {
    size_t size_bytes;
    size_t alignment; // a power of two
    enum ll_pages wish;
    uint64_t word; // of the block to be
};

// `heap` is the calling thread's, at work, or NULL. NULL when memory ran out.
void* ll_large_allocate(struct ll_heap* heap, const struct ll_large_request* request);

// False when no large block starts there.
bool ll_large_release(struct ll_heap* heap, struct ll_span* span, void* block);

// Gives the units of a span without a live block back. The lock of the units is held.
void ll_large_dissolve(struct ll_span* span);

// Shrinks, or grows where the units behind it are free; the block then has the new
// word. False when it has to move.
bool ll_large_resize(struct ll_span* span, size_t size_bytes, uint64_t word);

// Moves the contents of one large block to another that is larger.
void ll_large_move_contents(struct ll_span* from, struct ll_span* to);

// Bytes from the start to the last one that a pointer may point to.
size_t ll_large_room(const struct ll_span* span);
