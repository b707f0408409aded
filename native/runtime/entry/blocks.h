// What every entry function does with a new block and with one that goes, besides what
// the heap does: lens `loss` wants to know of both.
#pragma once
#include "base/attributes.h"
#include "heap/heap.h"
#include "lens/stamps.h"

LL_INLINE void* ll_entry_born(void* block) {
    if (LL_UNLIKELY(ll_stamps_on) && block != NULL) {
        ll_stamp_birth((uintptr_t)block);
    }
    return block;
}

// `site` is evaluated only while losses are stamped.
#define LL_ENTRY_RELEASE(block, site)                                                  \
    do {                                                                               \
        if (LL_UNLIKELY(ll_stamps_on)) {                                               \
            uintptr_t start_ = (uintptr_t)(block);                                     \
            ll_stamp_freed(start_, start_, start_ + ll_heap_requested_size(block),     \
                           (site));                                                    \
        }                                                                              \
        ll_heap_release(block);                                                        \
    } while (0)

// realloc of a block while losses are stamped: references that move with the contents
// are not lost, those behind a smaller size are, and none stays behind. NULL when
// memory ran out.
void* ll_entry_reallocate_stamped(void* block, size_t size_bytes, ll_site site);
