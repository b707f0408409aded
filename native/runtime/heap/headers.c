// A header of a small span keeps its words for good, so headers out of use wait in
// lists by how many words they have: those that the blocks of some class need.
#include "heap/headers.h"

#include <string.h>

#include "heap/arena.h"
#include "heap/heap.h"
#include "os/memory.h"

enum { LIST_BARE = LL_CLASS_COUNT, LIST_COUNT };

static struct ll_arena header_arena;
static struct ll_arena word_arena;
static struct ll_span* idle[LIST_COUNT];
static uint64_t past_allocations;
static bool twins_are_wanted;
static uintptr_t twin_distance;

enum { TWINS_SKEW = 1088 };

// Free runs have no block; their one word is never live.
static uint64_t no_words[2];
struct ll_span ll_no_span = {
    .words = no_words, .owner = LL_OWNER_NONE, .unit_count = 1};

// Words start in the middle of a page: the table of units starts at the beginning of
// one, and a processor takes a load for dependent on a recent store when both are at
// the same place of their pages. Twins are at other places than words for that reason.
bool ll_headers_start(void) {
    enum { WORDS_SKEW = 2112 };
    const size_t headers_bytes = (size_t)4 << 30;
    const size_t words_bytes = (size_t)256 << 30;
    const size_t both_bytes = headers_bytes + words_bytes;
    const size_t twins_bytes = twins_are_wanted ? both_bytes + LL_PAGE_SIZE : 0;
    char* start = ll_memory_reserve(NULL, both_bytes + twins_bytes);
    if (start == NULL) {
        return false;
    }
    twin_distance = twins_are_wanted ? both_bytes + TWINS_SKEW : 0;
    ll_arena_start_at(&header_arena, start, headers_bytes, twin_distance);
    ll_arena_start_at(&word_arena, start + headers_bytes, words_bytes, twin_distance);
    return ll_arena_take(&word_arena, WORDS_SKEW) != NULL;
}

void ll_heap_keep_twins(void) {
    twins_are_wanted = true;
}

uintptr_t ll_heap_twin_distance(void) {
    return twin_distance;
}

static size_t words_bytes(unsigned class) {
    size_t size = (ll_classes[class].capacity + 1) * sizeof(uint64_t);
    return (size + 63) & ~(size_t)63;
}

static struct ll_span* take_idle(unsigned list) {
    struct ll_span* span = idle[list];
    if (span != NULL) {
        idle[list] = span->next;
        span->next = NULL;
    }
    return span;
}

// Whether as many words as one class needs do for another, and not many are wasted.
static bool suffice(unsigned words_class, unsigned class) {
    enum { WASTE_MAX = 2 };
    size_t there = words_bytes(words_class);
    size_t needed = words_bytes(class);
    return there >= needed && there <= WASTE_MAX * needed;
}

// With the words of the class, or else with some more of them: classes come and go as a
// program does one thing after the other. Smaller classes need more words, except that
// the ladder of aligned ones begins anew.
static struct ll_span* take_idle_for(unsigned class) {
    struct ll_span* span = take_idle(class);
    for (unsigned other = class; span == NULL && other-- > 0;) {
        span = suffice(other, class) ? take_idle(other) : NULL;
    }
    return span;
}

static void describe_class(struct ll_span* span, unsigned class) {
    span->kind = LL_SPAN_SMALL;
    span->words = span->own_words;
    span->class = (uint8_t)class;
    span->capacity = ll_classes[class].capacity;
    span->block_size = ll_classes[class].block_size;
    span->unit_count = ll_classes[class].unit_count;
    span->reciprocal = ll_classes[class].reciprocal;
    span->head = 0;
    span->allocated = 0;
    span->used = 0;
    span->list = LL_LIST_NONE;
}

static void give_idle(struct ll_span* span, unsigned list) {
    span->next = idle[list];
    idle[list] = span;
}

static struct ll_span* make_small(unsigned class) {
    struct ll_span* span = ll_arena_take(&header_arena, sizeof *span);
    if (span == NULL) {
        return NULL;
    }
    span->own_words = ll_arena_take(&word_arena, words_bytes(class));
    if (span->own_words == NULL) {
        give_idle(span, LIST_BARE);
        return NULL;
    }
    span->words_class = (uint8_t)class;
    return span;
}

struct ll_span* ll_header_take_small(unsigned class) {
    struct ll_span* span = take_idle_for(class);
    if (span == NULL) {
        span = make_small(class);
    } else if (!span->is_purged) {
        memset(span->own_words, 0, words_bytes(class));
    }
    if (span != NULL) {
        describe_class(span, class);
    }
    return span;
}

// When memory has run out: a header of some class, until it is given back.
static struct ll_span* take_any_idle(void) {
    struct ll_span* span = NULL;
    for (unsigned class = 0; class < LL_CLASS_COUNT && span == NULL; class++) {
        span = take_idle(class);
    }
    return span;
}

struct ll_span* ll_header_take_bare(void) {
    struct ll_span* span = take_idle(LIST_BARE);
    if (span == NULL) {
        span = ll_arena_take(&header_arena, sizeof *span);
    }
    if (span == NULL) {
        span = take_any_idle();
    }
    if (span != NULL) {
        span->words = no_words;
        __atomic_store_n(&span->owner, LL_OWNER_NONE, __ATOMIC_RELAXED);
    }
    return span;
}

void ll_header_give(struct ll_span* span) {
    unsigned list = span->own_words != NULL ? span->words_class : (unsigned)LIST_BARE;
    __atomic_store_n(&past_allocations, past_allocations + span->allocated,
                     __ATOMIC_RELAXED);
    span->allocated = 0;
    span->used = 0;
    span->capacity = 0;
    span->kind = LL_SPAN_NONE;
    span->is_purged = false;
    span->previous = NULL;
    give_idle(span, list);
}

static bool purge_words(struct ll_span* span, unsigned class) {
    uintptr_t start = (uintptr_t)span->own_words;
    uintptr_t end = start + words_bytes(class);
    uintptr_t first_page = (start + LL_PAGE_SIZE - 1) & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    uintptr_t last_page = end & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    memset(span->own_words, 0, first_page - start);
    memset((void*)last_page, 0, end - last_page);
    span->is_purged = ll_memory_purge((void*)first_page, last_page - first_page);
    // The first and the last page of the twins may hold others, too.
    if (twin_distance != 0 && last_page - first_page > LL_PAGE_SIZE) {
        uintptr_t twins = first_page + twin_distance - TWINS_SKEW + LL_PAGE_SIZE;
        ll_memory_purge((void*)twins, last_page - first_page - LL_PAGE_SIZE);
    }
    return span->is_purged;
}

// Headers given last come first in their list, so purged ones follow each other.
static bool purge_class(unsigned class) {
    struct ll_span* span = idle[class];
    while (span != NULL && !span->is_purged) {
        if (!purge_words(span, class)) {
            return false;
        }
        span = span->next;
    }
    return true;
}

void ll_headers_purge(void) {
    // Words of larger classes have hardly a page of their own.
    enum { LAST_CLASS = 3 };
    for (unsigned class = 0; class <= LAST_CLASS && purge_class(class); class++) {
    }
}

uint64_t ll_headers_past_allocations(void) {
    return __atomic_load_n(&past_allocations, __ATOMIC_RELAXED);
}
