// What can be asked of a block, or changed in it, given its start.
#include <string.h>

#include "heap/heap.h"
#include "heap/inspect.h"
#include "heap/large.h"
#include "heap/local.h"
#include "heap/page_states.h"
#include "heap/threads.h"

struct place {
    struct ll_span* span;
    uint32_t index;
};

// The live block that starts at an address; false when none does.
static bool find(const void* start, struct place* place) {
    struct ll_span* span = ll_span_of(start);
    bool is_large = span->kind == LL_SPAN_LARGE && span->start == (uintptr_t)start;
    uint32_t index = is_large ? 0 : ll_span_index_of_start(span, (uintptr_t)start);
    *place = (struct place){span, index};
    return index < span->capacity && ll_word_is_live(span, index);
}

static size_t requested_size(struct place place) {
    uint64_t word = ll_word_get(place.span, place.index);
    return place.span->kind == LL_SPAN_LARGE ? place.span->large_size
                                             : (uint16_t)(word >> LL_WORD_SIZE_SHIFT);
}

bool ll_heap_is_block(const void* block) {
    struct place place;
    return find(block, &place);
}

size_t ll_heap_requested_size(const void* block) {
    struct place place;
    return find(block, &place) ? requested_size(place) : 0;
}

ll_site ll_heap_site(const void* block) {
    struct place place;
    return find(block, &place) ? (ll_site)ll_word_get(place.span, place.index) : 0;
}

bool ll_heap_ignore(const void* block) {
    struct place place;
    if (!find(block, &place)) {
        return false;
    }
    uint64_t word = ll_word_get(place.span, place.index);
    ll_word_set(place.span, place.index, word | LL_WORD_IGNORED);
    return true;
}

// Bytes up to the one that is kept for a pointer past the end.
static size_t room(const struct ll_span* span) {
    return span->kind == LL_SPAN_LARGE ? ll_large_room(span) : span->block_size - 1u;
}

static void set_size(struct place place, size_t size_bytes) {
    uint64_t size = (uint64_t)size_bytes << LL_WORD_SIZE_SHIFT;
    uint64_t size_bits = (uint64_t)UINT16_MAX << LL_WORD_SIZE_SHIFT;
    uint64_t word = ll_word_get(place.span, place.index);
    if (place.span->kind == LL_SPAN_LARGE) {
        place.span->large_size = size_bytes;
    } else {
        ll_word_set(place.span, place.index, (word & ~size_bits) | size);
    }
}

size_t ll_heap_usable_size(void* block) {
    struct place place;
    if (!find(block, &place)) {
        return 0;
    }
    size_t requested = requested_size(place);
    size_t whole_words = room(place.span) & ~(size_t)7;
    size_t usable = whole_words > requested ? whole_words : requested;
    set_size(place, usable);
    return usable;
}

// In place where that wastes less than half of the block.
static bool is_worth_the_room(const struct ll_span* span, size_t size_bytes) {
    return span->kind == LL_SPAN_LARGE ? size_bytes > LL_SMALL_MAX
                                       : size_bytes >= span->block_size / 2 - 8;
}

bool ll_block_shrinks_in_place(const void* block, size_t size_bytes) {
    struct place place;
    return find(block, &place) && size_bytes <= requested_size(place) &&
           is_worth_the_room(place.span, size_bytes);
}

static bool resize(struct place place, size_t size_bytes, uint64_t word) {
    struct ll_span* span = place.span;
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
    ll_word_set(span, place.index, word | size);
    return true;
}

static void copy_contents(struct place from, void* start, void* to, size_t size_bytes) {
    struct ll_span* to_span = ll_span_of(to);
    if (from.span->kind == LL_SPAN_LARGE && to_span->kind == LL_SPAN_LARGE) {
        ll_large_move_contents(from.span, to_span);
        return;
    }
    size_t size = requested_size(from);
    memcpy(to, start, size < size_bytes ? size : size_bytes);
}

void* ll_heap_reallocate(void* block, size_t size_bytes, ll_site site) {
    struct place place;
    if (!find(block, &place)) {
        return NULL;
    }
    uint64_t word = (uint64_t)ll_birth_now() << LL_WORD_SIZE_SHIFT | site;
    if (resize(place, size_bytes, word)) {
        ll_page_states_born((uintptr_t)block, size_bytes);
        ll_fork_note_allocation();
        return block;
    }
    void* moved = ll_heap_allocate(size_bytes, site);
    if (moved != NULL) {
        copy_contents(place, block, moved, size_bytes);
        ll_heap_release(block);
    }
    return moved;
}
