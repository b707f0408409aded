// Spans, the words that describe their blocks, and the table that leads from an address
// to its span. Vocabulary: a *unit* is 64 KiB of the heap's range; a *span* is a run of
// units that holds blocks of one size, one large block, or nothing (a *free run*); a
// *word* holds all that is known of one block. A word of a live block is
//
//     63      52 51  50  49       48    47         32 31           0
//     | epoch   | mark | ignored | live | size       | site         |
//
// and the word of a free block is its link in the span's list of free blocks, relative
// to its successor: a block that was never used has the word 0, which links to the next
// one. So a fresh span needs no list, and a list ends at the index `capacity`.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "heap/classes.h"

#define LL_WORD_SIZE_SHIFT 32
#define LL_WORD_LIVE ((uint64_t)1 << 48)
#define LL_WORD_LIVE_BYTE 6 // of the word, where it is the lowest bit
#define LL_WORD_IGNORED ((uint64_t)1 << 49)
#define LL_WORD_MARK_SHIFT 50
#define LL_WORD_EPOCH_SHIFT 52
enum { LL_EPOCH_MAX = 0xfff };

// In the word of a free block: it was used before, so it may not read as zeros.
#define LL_WORD_USED ((uint64_t)1 << LL_WORD_SIZE_SHIFT)

enum ll_span_kind {
    LL_SPAN_NONE, // the header is not in use
    LL_SPAN_FREE,
    LL_SPAN_SMALL,
    LL_SPAN_LARGE,
};

// Values of `owner` besides the address of a heap. A heap's address with LL_OWNER_FULL
// set: that heap's, without a free block and in its list of full spans.
enum {
    LL_OWNER_NONE = 2,      // large blocks and free runs
    LL_OWNER_ABANDONED = 4, // its thread has ended; guarded by the lock of the units
    LL_OWNER_AGED = 8,      // nobody's: lent out in strips (heap/strips.h)
    LL_OWNER_FULL = 1,
};

// The header of a span. Headers are never unmapped and never become anything else, so a
// thread that is late may still look at one. The first line is all that allocations and
// frees touch; `remote` and what follows is written by other threads.
struct ll_span {
    uint32_t head;     // index of the first free block; `capacity` when there is none
    uint32_t capacity; // blocks; one word more follows them and is always 0
    uint64_t* words;
    uintptr_t start; // of the first block; a large one may lie behind its unit's start
    uint64_t reciprocal; // of `block_size`, as in ll_class; 0 for one block only
    uintptr_t owner;
    uint64_t allocated;  // blocks ever taken from this span
    uint32_t used;       // blocks not in its list
    uint32_t block_size; // 0 for large blocks and free runs
    uint32_t unit_count;
    uint8_t class;
    uint8_t kind; // ll_span_kind
    uint8_t list; // LL_LIST_*: which list of its heap holds it
    bool zeroed;  // blocks never used, or the free run, read as zeros

    // Freed by other threads and not yet in the list: index + 1 of the last, whose word
    // holds that of the one before it; 0 when there is none.
    _Alignas(64) uint32_t remote;
    uint32_t queued;              // 1 while in some heap's list of pending spans
    struct ll_span* pending_next; // in that list
    struct ll_span* next;         // in the one list that holds the span otherwise
    struct ll_span* previous;
    uint64_t large_word; // the word of a large block; its size is below
    uint64_t large_size;
    uint64_t* own_words; // NULL, or as many as `words_class` needs, for good
    uint8_t words_class;
    bool is_purged; // the words of a header out of use read as zeros
};
_Static_assert(sizeof(struct ll_span) == 128, "a header fills two cache lines");

enum {
    LL_LIST_NONE,
    LL_LIST_PARTIAL,
    LL_LIST_FULL,
};

// The heap's range in use, and the span of each unit of it.
struct ll_range {
    uintptr_t start;
    uintptr_t used_bytes; // a multiple of the unit
    struct ll_span** spans;
};
extern struct ll_range ll_range;

// Stands for all units that belong to no span: it has no live block.
extern struct ll_span ll_no_span;

// Words are read by looks at a stopped world and by threads that free each other's
// blocks, so each access is one of 64 bits.
LL_INLINE uint64_t ll_word_get(const struct ll_span* span, uint32_t index) {
    return __atomic_load_n(&span->words[index], __ATOMIC_RELAXED);
}

LL_INLINE void ll_word_set(struct ll_span* span, uint32_t index, uint64_t word) {
    __atomic_store_n(&span->words[index], word, __ATOMIC_RELAXED);
}

LL_INLINE bool ll_word_is_live(const struct ll_span* span, uint32_t index) {
    const uint8_t* flags = (const uint8_t*)&span->words[index] + LL_WORD_LIVE_BYTE;
    return (__atomic_load_n(flags, __ATOMIC_RELAXED) & 1) != 0;
}

// The span at an address of the range in use.
LL_INLINE struct ll_span* ll_span_at(uintptr_t offset) {
    return __atomic_load_n(&ll_range.spans[offset >> LL_UNIT_SHIFT], __ATOMIC_RELAXED);
}

// The span of the block at that address; one without blocks when there is none.
LL_INLINE struct ll_span* ll_span_of(const void* block) {
    uintptr_t offset = (uintptr_t)block - ll_range.start;
    return LL_LIKELY(offset < __atomic_load_n(&ll_range.used_bytes, __ATOMIC_RELAXED))
               ? ll_span_at(offset)
               : &ll_no_span;
}

// Where the units of a span start and end.
LL_INLINE uintptr_t ll_span_first_unit(const struct ll_span* span) {
    return span->start & ~(uintptr_t)(LL_UNIT_SIZE - 1);
}

LL_INLINE uintptr_t ll_span_end(const struct ll_span* span) {
    return ll_span_first_unit(span) + ((uintptr_t)span->unit_count << LL_UNIT_SHIFT);
}

// Where a walk over the range goes on after a span; always further.
LL_INLINE uintptr_t ll_span_next_offset(const struct ll_span* span, uintptr_t offset) {
    uintptr_t end =
        span->start - ll_range.start + ((uintptr_t)span->unit_count << LL_UNIT_SHIFT);
    return span != &ll_no_span && end > offset ? end : offset + LL_UNIT_SIZE;
}

// The index of the block that contains an address of the span. At most `capacity`.
LL_INLINE uint32_t ll_span_index(const struct ll_span* span, uintptr_t address) {
    return (uint32_t)(((unsigned __int128)(address - span->start) * span->reciprocal) >>
                      64);
}

// The index of the block that starts exactly at `address`; `capacity` when none does.
LL_INLINE uint32_t ll_span_index_of_start(const struct ll_span* span,
                                          uintptr_t address) {
    unsigned __int128 product =
        (unsigned __int128)(address - span->start) * span->reciprocal;
    return LL_LIKELY((uint64_t)product < span->reciprocal) ? (uint32_t)(product >> 64)
                                                           : span->capacity;
}
