// A short array: it is searched from one end to the other.
#include "heap/large_cache.h"

#include "heap/large.h"

enum { CACHED_UNITS_MAX = 32 };

static struct ll_span* take_out(struct ll_heap* heap, uint32_t position) {
    struct ll_span* span = heap->cached[position];
    heap->cached[position] = heap->cached[--heap->cached_count];
    heap->cached_units -= span->unit_count;
    return span;
}

struct ll_span* ll_large_cache_take(struct ll_heap* heap, size_t unit_count) {
    size_t most = unit_count + unit_count / 4;
    for (uint32_t i = heap->cached_count; i-- > 0;) {
        uint32_t count = heap->cached[i]->unit_count;
        if (count >= unit_count && count <= most) {
            return take_out(heap, i);
        }
    }
    return NULL;
}

bool ll_large_cache_keep(struct ll_heap* heap, struct ll_span* span) {
    if (heap->cached_count == LL_CACHED_MAX ||
        heap->cached_units + span->unit_count > CACHED_UNITS_MAX) {
        return false;
    }
    heap->cached[heap->cached_count++] = span;
    heap->cached_units += span->unit_count;
    return true;
}

void ll_large_cache_flush(struct ll_heap* heap) {
    while (heap->cached_count > 0) {
        ll_large_dissolve(take_out(heap, heap->cached_count - 1));
    }
}
