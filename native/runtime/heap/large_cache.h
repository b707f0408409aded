// The large blocks that a thread freed last, kept for its next large requests: they
// need neither the lock of the units nor a system call.
#pragma once
#include "heap/local.h"

// A span of `unit_count` units or little more out of the cache; NULL when there is
// none.
struct ll_span* ll_large_cache_take(struct ll_heap* heap, size_t unit_count);

// Keeps a span that has no live block any more; false when it is not worth it.
bool ll_large_cache_keep(struct ll_heap* heap, struct ll_span* span);

// Gives all units back. The lock of the units is held.
void ll_large_cache_flush(struct ll_heap* heap);
