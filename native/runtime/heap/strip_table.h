// The table of strips, and where strips and their places lie: for the files of strips
// only. A strip is found by its first page.
#pragma once
#include "heap/page_states.h"
#include "heap/strips.h"

// What is rarely needed of a strip.
struct ll_strip_rest {
    struct ll_cursor* cursor; // whose blocks it holds; NULL when it is free
    struct ll_strip* next;    // in the cursor's list, or in that of free strips
    struct ll_strip* previous;
    struct ll_strip* pending_next; // in the list of strips to be settled
    uint16_t taken_when_empty;     // `taken` when no block lived the last time
};

struct ll_strip_table {
    struct ll_strip* strips; // by page of the range; NULL: off
    struct ll_strip_rest* rests;
    uint8_t pages_of_class[LL_CLASS_COUNT]; // of one strip, a power of two
};
extern struct ll_strip_table ll_strip_table;

LL_INLINE struct ll_strip_rest* ll_strip_rest(const struct ll_strip* strip) {
    return &ll_strip_table.rests[strip - ll_strip_table.strips];
}

LL_INLINE size_t ll_strip_bytes(const struct ll_span* span) {
    return (size_t)ll_strip_table.pages_of_class[span->class] << LL_PAGE_SHIFT;
}

LL_INLINE struct ll_strip* ll_strip_at(const struct ll_span* span, uintptr_t address) {
    uintptr_t offset = (address - span->start) & ~(uintptr_t)(ll_strip_bytes(span) - 1);
    return &ll_strip_table
                .strips[(span->start - ll_range.start + offset) >> LL_PAGE_SHIFT];
}

LL_INLINE uintptr_t ll_strip_start(const struct ll_strip* strip) {
    return ll_range.start +
           ((uintptr_t)(strip - ll_strip_table.strips) << LL_PAGE_SHIFT);
}

LL_INLINE struct ll_span* ll_strip_span(const struct ll_strip* strip) {
    return ll_span_of((void*)ll_strip_start(strip));
}

// The first place that lies on the strip as a whole, and the one behind the last.
uint32_t ll_strip_first_place(const struct ll_strip* strip, const struct ll_span* span);
uint32_t ll_strip_end_place(const struct ll_strip* strip, const struct ll_span* span);

LL_INLINE uint8_t ll_strip_state(const struct ll_strip* strip) {
    return __atomic_load_n(&strip->state, __ATOMIC_SEQ_CST);
}

LL_INLINE void ll_strip_set_state(struct ll_strip* strip, enum ll_strip_state state) {
    __atomic_store_n(&strip->state, (uint8_t)state, __ATOMIC_SEQ_CST);
}

LL_INLINE uint16_t ll_strip_taken(const struct ll_strip* strip) {
    return __atomic_load_n(&strip->taken, __ATOMIC_RELAXED);
}

LL_INLINE uint16_t ll_strip_sparse_at(const struct ll_strip* strip) {
    return __atomic_load_n(&strip->sparse_at, __ATOMIC_RELAXED);
}

// Blocks that live on a strip.
LL_INLINE uint16_t ll_strip_live(const struct ll_strip* strip) {
    uint16_t freed = __atomic_load_n(&strip->freed, __ATOMIC_SEQ_CST);
    return (uint16_t)(ll_strip_taken(strip) - freed);
}

// Lists of strips; a strip is in one at most. Under the lock of strips.
void ll_strip_link(struct ll_strip** list, struct ll_strip* strip);
void ll_strip_unlink(struct ll_strip** list, struct ll_strip* strip);
