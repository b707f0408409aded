// Blocks that are too large for a class: each is a span of its own. Pages appear as
// they are touched.
#pragma once
#include "heap/heap.h"
#include "heap/units.h"

// `birth` is the upper half of the block's word. `alignment` is a power of two.
void* ll_large_allocate(size_t size_bytes, size_t alignment, enum ll_pages wish,
                        uint32_t birth, ll_site site);

bool ll_large_release(struct ll_span* span, void* block);

// Shrinks, or grows where the units behind it are free. False when it has to move.
bool ll_large_resize(struct ll_span* span, size_t size_bytes, ll_site site);

// Moves the contents of one large block to another that is larger.
void ll_large_move_contents(struct ll_span* from, struct ll_span* to);

// Bytes from the start to the last one that a pointer may point to.
size_t ll_large_room(const struct ll_span* span);
