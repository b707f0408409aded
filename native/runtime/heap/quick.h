// The quickest way to a block, for code that is inlined into the entry functions.
#pragma once
#include "heap/local.h"

struct ll_quick {
    uint64_t* word; // of the block
    bool is_fresh;  // it reads as zeros
};

// A block from the thread's current span of the class; NULL when it has none. What is
// known of it is written to `known`.
LL_INLINE void* ll_quick_take(size_t size_bytes, ll_site site, struct ll_quick* known) {
    struct ll_heap* heap = ll_thread_heap;
    if (LL_UNLIKELY(heap == NULL || size_bytes > LL_SMALL_MAX)) {
        return NULL;
    }
    ll_thread_heap = NULL;
    ll_keep_order();
    struct ll_span* span = heap->current[ll_class_for(size_bytes)];
    if (LL_UNLIKELY(!ll_span_has_block(span))) {
        ll_thread_heap = heap;
        return NULL;
    }
    uint64_t previous_word;
    known->word = &span->words[span->head];
    void* block = ll_span_take(span, size_bytes, site, heap->birth, &previous_word);
    known->is_fresh = previous_word == 0 && span->zeroed;
    ll_keep_order();
    ll_thread_heap = heap;
    return block;
}
