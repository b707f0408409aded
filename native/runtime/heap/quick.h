// The quickest way to a block, for code that runs inside nearly every malloc.
#pragma once
#include "heap/local.h"

// A live block of one of the thread's own spans, which has room. While somebody has
// one, the thread works on its heap.
struct ll_quick_block {
    struct ll_span* span;
    uint64_t index; // 64 bits, like the numbers that it is computed from
};

LL_INLINE struct ll_heap* ll_quick_heap(struct ll_quick_block block) {
    return (struct ll_heap*)__atomic_load_n(&block.span->owner, __ATOMIC_RELAXED);
}

// Looks a block up that the calling thread may know best, to be released. False when it
// does not, which says nothing about the block.
LL_INLINE bool ll_quick_find(const void* block, struct ll_quick_block* found) {
    struct ll_heap* heap = ll_thread_heap;
    ll_thread_heap = NULL;
    ll_keep_order();
    struct ll_span* span = ll_span_of(block);
    found->span = span;
    if (LL_LIKELY(ll_quick_heap(*found) == heap)) {
        unsigned __int128 product =
            (unsigned __int128)((uintptr_t)block - span->start) * span->reciprocal;
        found->index = (uint64_t)(product >> 64);
        if (LL_LIKELY((uint64_t)product < span->reciprocal) &&
            LL_LIKELY((span->words[found->index] & LL_WORD_LIVE) != 0)) {
            return true;
        }
    }
    ll_thread_heap = heap;
    return false;
}

LL_INLINE size_t ll_quick_size(struct ll_quick_block block) {
    uint64_t word = ll_word_get(block.span, (uint32_t)block.index);
    return (uint16_t)(word >> LL_WORD_SIZE_SHIFT);
}

LL_INLINE void ll_quick_release(struct ll_quick_block block) {
    ll_keep_order();
    if (LL_UNLIKELY(ll_span_put(block.span, (uint32_t)block.index))) {
        ll_heap_release_last(ll_quick_heap(block), block.span);
        return;
    }
    ll_keep_order();
    ll_thread_heap = ll_quick_heap(block);
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
