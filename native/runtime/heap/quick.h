// The quickest way to a block, for code that runs inside nearly every malloc.
#pragma once
#include "heap/local.h"

// A live block of one of the thread's own spans, which has room.
struct ll_quick_block {
    struct ll_span* span;
    uint32_t index;
};

// Looks a block up that the calling thread may know best; false when it does not, which
// says nothing about the block.
LL_INLINE bool ll_quick_find(const void* block, struct ll_quick_block* found) {
    struct ll_span* span = ll_span_of(block);
    uintptr_t owner = __atomic_load_n(&span->owner, __ATOMIC_RELAXED);
    if (LL_UNLIKELY(owner != (uintptr_t)ll_thread_heap)) {
        return false;
    }
    *found =
        (struct ll_quick_block){span, ll_span_index_of_start(span, (uintptr_t)block)};
    return ll_word_is_live(span, found->index);
}

LL_INLINE size_t ll_quick_size(struct ll_quick_block block) {
    return (uint16_t)(ll_word_get(block.span, block.index) >> LL_WORD_SIZE_SHIFT);
}

// Frees a block that was just looked up.
LL_INLINE void ll_quick_release(void* start, struct ll_quick_block block) {
    struct ll_heap* heap = ll_thread_heap;
    ll_thread_heap = NULL;
    ll_keep_order();
    // A signal handler may have filled the span meanwhile.
    uintptr_t owner = __atomic_load_n(&block.span->owner, __ATOMIC_RELAXED);
    if (LL_UNLIKELY(owner != (uintptr_t)heap)) {
        ll_thread_heap = heap;
        ll_heap_release(start);
        return;
    }
    if (LL_UNLIKELY(ll_span_put(block.span, block.index))) {
        ll_heap_release_last(heap, block.span);
        return;
    }
    ll_keep_order();
    ll_thread_heap = heap;
}

// What ll_heap_allocate does when there is no quick way.
struct ll_taken ll_heap_allocate_slowly(size_t size_bytes, ll_site site);

struct ll_quick {
    uint64_t* word; // of the block
    bool is_fresh;  // it reads as zeros
};

// A block from the thread's current span of the class; NULL when it has none. What is
// known of it is written to `known`.
LL_INLINE void* ll_quick_take_of(unsigned class, size_t size_bytes, ll_site site,
                                 struct ll_quick* known) {
    struct ll_heap* heap = ll_thread_heap;
    if (LL_UNLIKELY(heap == NULL)) {
        return NULL;
    }
    ll_thread_heap = NULL;
    ll_keep_order();
    struct ll_span* span = heap->current[class];
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

// The same for a block of any size.
LL_INLINE void* ll_quick_take(size_t size_bytes, ll_site site, struct ll_quick* known) {
    return LL_LIKELY(size_bytes <= LL_SMALL_MAX)
               ? ll_quick_take_of(ll_class_for(size_bytes), size_bytes, site, known)
               : NULL;
}
