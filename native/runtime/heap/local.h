// A thread's own heap: per class one span to allocate from, and lists of the others it
// owns. While a thread works on its heap, `ll_thread_heap` is NULL, so that a signal
// handler that interrupts it finds no heap and uses the shared one.
#pragma once
#include "heap/heap.h"
#include "heap/span.h"

enum { LL_CACHED_MAX = 16 };

struct ll_heap {
    struct ll_span* current[LL_CLASS_COUNT + 1]; // &ll_no_span: none; so is the last
    uint32_t birth;            // upper half of a new block's word: live, ignored, epoch
    bool is_taken;             // by a thread
    struct ll_heap* next_heap; // in the list of all heaps
    struct ll_span* partial[LL_CLASS_COUNT]; // with free blocks, besides the current
    struct ll_span* full;                    // of any class, without free blocks
    struct ll_span* cached[LL_CACHED_MAX];   // spans of large blocks that were freed
    uint32_t cached_count;
    uint32_t cached_units;                     // of all of them
    _Alignas(64) struct ll_span* pending_list; // to which other threads gave blocks
};

// NULL: the thread has no heap (yet, or any more), or is at work on it.
extern LL_THREAD_LOCAL struct ll_heap* ll_thread_heap;

// The order of stores that a stopped thread, a signal handler or a forked child may
// see.
LL_INLINE void ll_keep_order(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// The heap to work on: the calling thread's, or the shared one with its lock held.
struct ll_turn {
    struct ll_heap* heap; // NULL: the heap could not be started
    uint64_t mask;        // signals to restore, for the shared heap
};
struct ll_turn ll_turn_begin(void);
void ll_turn_end(struct ll_turn turn);

// The epoch and flags for words of blocks that the calling thread allocates.
uint32_t ll_birth_now(void);

// The current span of the class, with a free block in it, made so if need be. NULL when
// memory ran out.
struct ll_span* ll_local_refill(struct ll_heap* heap, unsigned class);

// The last block of a span was freed by the thread whose heap this is. Ends its work on
// the heap; true.
bool ll_heap_release_last(struct ll_heap* heap, struct ll_span* span);

// A span of `heap` has lost its last block, or a full one got a free block.
void ll_local_emptied(struct ll_heap* heap, struct ll_span* span);
void ll_local_no_longer_full(struct ll_heap* heap, struct ll_span* span);

// Gives up empty spans that were worth keeping. The lock of the units is held.
void ll_local_give_up_empty(struct ll_heap* heap);

// Leaves all spans without an owner, to be adopted. The lock of the units is held.
void ll_local_abandon_all(struct ll_heap* heap);

// Puts a span on the list of those without an owner, or gives its units back if it is
// empty. The lock of the units is held.
void ll_span_abandon(struct ll_span* span);

// Gives back the units of spans without an owner and without blocks. The lock is held.
void ll_abandoned_sweep(void);

// Lets the next allocation of each class come to ll_local_refill.
void ll_local_set_aside_current(struct ll_heap* heap);

// Takes one block of a span that has one. `previous_word` is 0 for a block never used.
LL_INLINE void* ll_span_take(struct ll_span* span, size_t size_bytes, ll_site site,
                             uint32_t birth, uint64_t* previous_word) {
    uint32_t index = span->head;
    uint64_t* word = &span->words[index];
    *previous_word = __atomic_load_n(word, __ATOMIC_RELAXED);
    span->head = index + 1 + (uint32_t)*previous_word;
    ll_keep_order();
    uint64_t upper = birth | (uint32_t)size_bytes;
    __atomic_store_n(word, upper << LL_WORD_SIZE_SHIFT | site, __ATOMIC_RELAXED);
    span->allocated++;
    span->used++;
    return (void*)(span->start + (uintptr_t)index * span->block_size);
}

// Puts a block at the front of its span's list. True when it was the last in use.
LL_INLINE bool ll_span_put(struct ll_span* span, uint32_t index) {
    ll_word_set(span, index, (uint32_t)(span->head - index - 1) | LL_WORD_USED);
    ll_keep_order();
    span->head = index;
    return --span->used == 0;
}

LL_INLINE bool ll_span_has_block(const struct ll_span* span) {
    return span->head != span->capacity;
}

LL_INLINE bool ll_span_is_empty(const struct ll_span* span) {
    return span->used == 0;
}
