// How lenses look at blocks: from an address to its block, from a block to what is
// known of it, and over all blocks. Meant for a stopped world; takes no lock.
#pragma once
#include "heap/heap.h"
#include "heap/span.h"

// One block; valid while the world is stopped.
struct ll_block {
    struct ll_span* span;
    uint32_t index; // of the block in its span
};

// True when `address` lies in the part of the heap's range that is in use.
LL_INLINE bool ll_is_heap_address(uintptr_t address) {
    return address - ll_range.start < ll_range.used_bytes;
}

// The place whose bytes include `address`, whether a block lives there or not. Reads
// the span's header only, none of its words. The first one takes the span at `address`.
LL_INLINE bool ll_block_locate_in(struct ll_span* span, uintptr_t address,
                                  struct ll_block* block) {
    block->span = span;
    block->index = ll_span_index(span, address);
    return block->index < span->capacity;
}

LL_INLINE bool ll_block_locate(uintptr_t address, struct ll_block* block) {
    uintptr_t offset = address - ll_range.start;
    return offset < ll_range.used_bytes &&
           ll_block_locate_in(ll_span_at(offset), address, block);
}

LL_INLINE void ll_block_prefetch(struct ll_block block) {
    __builtin_prefetch(&block.span->words[block.index], 1);
}

LL_INLINE bool ll_block_is_live(struct ll_block block) {
    return ll_word_is_live(block.span, block.index);
}

LL_INLINE uintptr_t ll_block_start(struct ll_block block) {
    return block.span->start + (uintptr_t)block.index * block.span->block_size;
}

// Requested size of a live block. A large one has no block size in its span's header;
// `kind` would say the same in another cache line.
LL_INLINE size_t ll_block_size(struct ll_block block) {
    return LL_UNLIKELY(block.span->block_size == 0)
               ? block.span->large_size
               : (uint16_t)(ll_word_get(block.span, block.index) >> LL_WORD_SIZE_SHIFT);
}

// The live block that starts at `start`; false when none does. A header's second cache
// line is not touched unless the block is large.
LL_INLINE bool ll_block_starting_at(const void* start, struct ll_block* block) {
    struct ll_span* span = ll_span_of(start);
    bool is_large = LL_UNLIKELY(span->block_size == 0) && span->kind == LL_SPAN_LARGE &&
                    span->start == (uintptr_t)start;
    block->span = span;
    block->index = is_large ? 0 : ll_span_index_of_start(span, (uintptr_t)start);
    return block->index < span->capacity && ll_block_is_live(*block);
}

// The live block that contains `address` (interior and one past the end included).
LL_INLINE bool ll_block_at(uintptr_t address, struct ll_block* block) {
    return ll_block_locate(address, block) && ll_block_is_live(*block) &&
           address - ll_block_start(*block) <= ll_block_size(*block);
}

// Whether ll_heap_reallocate leaves a live block where it is and makes it no larger.
bool ll_block_shrinks_in_place(struct ll_block block, size_t size_bytes);

LL_INLINE ll_site ll_block_site(struct ll_block block) {
    return (ll_site)ll_word_get(block.span, block.index);
}

LL_INLINE void ll_block_set_site(struct ll_block block, ll_site site) {
    uint64_t word = ll_word_get(block.span, block.index);
    ll_word_set(block.span, block.index, (word & ~(uint64_t)UINT32_MAX) | site);
}

LL_INLINE bool ll_block_is_ignored(struct ll_block block) {
    return (ll_word_get(block.span, block.index) & LL_WORD_IGNORED) != 0;
}

// The twin of a block's word, which belongs to a lens; the heap keeps twins.
LL_INLINE uint64_t* ll_word_twin(uint64_t* word) {
    return (uint64_t*)((uintptr_t)word + ll_heap_twin_distance());
}

LL_INLINE uint64_t* ll_block_twin(struct ll_block block) {
    return ll_word_twin(&block.span->words[block.index]);
}

// Born in a process that this one was forked from.
bool ll_block_is_inherited(struct ll_block block);

// Two bits per live block for the lens that marks; all 0 when a look begins.
LL_INLINE unsigned ll_block_mark(struct ll_block block) {
    return (unsigned)(ll_word_get(block.span, block.index) >> LL_WORD_MARK_SHIFT) & 3;
}

LL_INLINE void ll_block_set_mark(struct ll_block block, unsigned mark) {
    uint64_t word = ll_word_get(block.span, block.index);
    word &= ~((uint64_t)3 << LL_WORD_MARK_SHIFT);
    ll_word_set(block.span, block.index, word | (uint64_t)mark << LL_WORD_MARK_SHIFT);
}

void ll_heap_clear_marks(void);

// Visits every live block in address order until `visit` returns false.
typedef bool ll_block_visitor(struct ll_block block, void* context);
void ll_heap_visit(ll_block_visitor* visit, void* context);

// For a child after fork, when its heap is whole: what was allocated before is its
// parent's in the totals.
void ll_heap_inherit_allocations(void);

// Blocks allocated so far, while other threads go on: no more than there are at the end
// of the call. Takes no lock. False when spans go so fast that it cannot be told.
bool ll_heap_count_allocations(uint64_t* allocations);
