// What can be asked of a block, or changed in it, given its start.
#include <string.h>

#include "heap/heap.h"
#include "heap/inspect.h"
#include "heap/large.h"
#include "heap/local.h"
#include "heap/page_states.h"
#include "heap/quick.h"
#include "heap/threads.h"

bool ll_heap_is_block(const void* block) {
    struct ll_block known;
    return ll_block_starting_at(block, &known);
}

size_t ll_heap_requested_size(const void* block) {
    struct ll_block known;
    return ll_block_starting_at(block, &known) ? ll_block_size(known) : 0;
}

ll_site ll_heap_site(const void* block) {
    struct ll_block known;
    return ll_block_starting_at(block, &known) ? ll_block_site(known) : 0;
}

bool ll_heap_ignore(const void* block) {
    struct ll_block known;
    if (!ll_block_starting_at(block, &known)) {
        return false;
    }
    uint64_t word = ll_word_get(known.span, known.index);
    ll_word_set(known.span, known.index, word | LL_WORD_IGNORED);
    return true;
}

// Bytes up to the one that is kept for a pointer past the end.
static size_t room(const struct ll_span* span) {
    return span->kind == LL_SPAN_LARGE ? ll_large_room(span) : span->block_size - 1u;
}

static void set_size(struct ll_block block, size_t size_bytes) {
    uint64_t size = (uint64_t)size_bytes << LL_WORD_SIZE_SHIFT;
    uint64_t size_bits = (uint64_t)UINT16_MAX << LL_WORD_SIZE_SHIFT;
    uint64_t word = ll_word_get(block.span, block.index);
    if (block.span->kind == LL_SPAN_LARGE) {
        block.span->large_size = size_bytes;
    } else {
        ll_word_set(block.span, block.index, (word & ~size_bits) | size);
    }
}

size_t ll_heap_usable_size(void* block) {
    struct ll_block known;
    if (!ll_block_starting_at(block, &known)) {
        return 0;
    }
    size_t requested = ll_block_size(known);
    size_t whole_words = room(known.span) & ~(size_t)7;
    size_t usable = whole_words > requested ? whole_words : requested;
    set_size(known, usable);
    return usable;
}

// In place where that wastes less than half of the block.
static bool is_worth_the_room(const struct ll_span* span, size_t size_bytes) {
    return span->block_size == 0 ? size_bytes > LL_SMALL_MAX
                                 : size_bytes >= span->block_size / 2 - 8;
}

bool ll_block_shrinks_in_place(struct ll_block block, size_t size_bytes) {
    return size_bytes <= ll_block_size(block) &&
           is_worth_the_room(block.span, size_bytes);
}

static bool resize(struct ll_block block, size_t size_bytes, uint64_t word) {
    struct ll_span* span = block.span;
    if (!is_worth_the_room(span, size_bytes)) {
        return false;
    }
    if (span->kind == LL_SPAN_LARGE) {
        return ll_large_resize(span, size_bytes, word);
    }
    if (size_bytes >= span->block_size) {
        return false;
    }
    uint64_t size = (uint64_t)size_bytes << LL_WORD_SIZE_SHIFT;
    ll_word_set(span, block.index, word | size);
    return true;
}

static void copy_contents(struct ll_block from, void* to, size_t size_bytes) {
    struct ll_span* to_span = ll_span_of(to);
    if (from.span->kind == LL_SPAN_LARGE && to_span->kind == LL_SPAN_LARGE) {
        ll_large_move_contents(from.span, to_span);
        return;
    }
    size_t size = ll_block_size(from);
    memcpy(to, (const void*)ll_block_start(from),
           size < size_bytes ? size : size_bytes);
}

static struct ll_resized allocate_for(size_t size_bytes, ll_site site) {
    struct ll_quick known;
    void* block = ll_quick_take(size_bytes, site, &known);
    return LL_LIKELY(block != NULL)
               ? (struct ll_resized){block, known.word}
               : (struct ll_resized){ll_heap_allocate_slowly(size_bytes, site).block,
                                     NULL};
}

struct ll_resized ll_heap_reallocate(void* block, size_t size_bytes, ll_site site) {
    struct ll_block known;
    if (!ll_block_starting_at(block, &known)) {
        return (struct ll_resized){0};
    }
    uint64_t word = (uint64_t)ll_birth_now() << LL_WORD_SIZE_SHIFT | site;
    if (resize(known, size_bytes, word)) {
        ll_page_states_born((uintptr_t)block, size_bytes);
        ll_fork_note_allocation();
        return (struct ll_resized){block, &known.span->words[known.index]};
    }
    struct ll_resized moved = allocate_for(size_bytes, site);
    if (moved.block != NULL) {
        copy_contents(known, moved.block, size_bytes);
        ll_heap_release(block);
    }
    return moved;
}
