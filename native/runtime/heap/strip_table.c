#include "heap/strip_table.h"

#include "heap/arena.h"

enum {
    WASTE_SHARE = 8, // of a strip, that may be lost to places across its borders
};

struct ll_strip_table ll_strip_table;

static struct ll_arena strip_arena;
static struct ll_arena rest_arena;

static size_t span_pages(unsigned class) {
    return (size_t)ll_classes[class].unit_count << (LL_UNIT_SHIFT - LL_PAGE_SHIFT);
}

// Whether so many pages hold blocks without much waste, wherever in the span they lie:
// at worst both borders cut a block.
static bool is_thrifty(unsigned class, size_t pages) {
    size_t block_size = ll_classes[class].block_size;
    size_t bytes = pages << LL_PAGE_SHIFT;
    size_t waste = bytes % block_size + block_size;
    return waste <= bytes / WASTE_SHARE;
}

static size_t strip_pages(unsigned class, size_t least_pages) {
    size_t pages = least_pages;
    while (pages < span_pages(class) && !is_thrifty(class, pages)) {
        pages *= 2;
    }
    return pages;
}

bool ll_strips_start(size_t least_pages) {
    size_t pages = (size_t)1 << (LL_RANGE_SHIFT - LL_PAGE_SHIFT);
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        ll_strip_table.pages_of_class[class] = (uint8_t)strip_pages(class, least_pages);
    }
    if (!ll_arena_start(&strip_arena, pages * sizeof(struct ll_strip)) ||
        !ll_arena_start(&rest_arena, pages * sizeof(struct ll_strip_rest))) {
        return false;
    }
    ll_strip_table.rests = (struct ll_strip_rest*)rest_arena.start;
    ll_strip_table.strips = (struct ll_strip*)strip_arena.start;
    return true;
}

static bool extend(struct ll_arena* arena, size_t needed_bytes) {
    return needed_bytes <= arena->used_bytes ||
           ll_arena_take(arena, needed_bytes - arena->used_bytes) != NULL;
}

bool ll_strips_extend(size_t used_bytes) {
    size_t pages = used_bytes >> LL_PAGE_SHIFT;
    return ll_strip_table.strips == NULL ||
           (extend(&strip_arena, pages * sizeof(struct ll_strip)) &&
            extend(&rest_arena, pages * sizeof(struct ll_strip_rest)));
}

struct ll_strip* ll_strip_of(const struct ll_span* span, const void* block) {
    return ll_strip_at(span, (uintptr_t)block);
}

uint32_t ll_strip_first_place(const struct ll_strip* strip,
                              const struct ll_span* span) {
    uintptr_t offset = ll_strip_start(strip) - span->start;
    return (uint32_t)((offset + span->block_size - 1) / span->block_size);
}

uint32_t ll_strip_end_place(const struct ll_strip* strip, const struct ll_span* span) {
    uintptr_t offset = ll_strip_start(strip) - span->start + ll_strip_bytes(span);
    return (uint32_t)(offset / span->block_size);
}

bool ll_strip_is_sparse(const struct ll_strip* strip) {
    return ll_strip_live(strip) <= ll_strip_sparse_at(strip);
}

const struct ll_strip* ll_strips_closed_at(uintptr_t page) {
    const struct ll_span* span = ll_span_of((void*)page);
    if (__atomic_load_n(&span->kind, __ATOMIC_RELAXED) != LL_SPAN_SMALL ||
        __atomic_load_n(&span->owner, __ATOMIC_SEQ_CST) != LL_OWNER_AGED) {
        return NULL;
    }
    const struct ll_strip* strip = ll_strip_at(span, page);
    uint8_t state = ll_strip_state(strip);
    return state == LL_STRIP_CLOSED || state == LL_STRIP_REUSABLE ? strip : NULL;
}

void ll_strip_link(struct ll_strip** list, struct ll_strip* strip) {
    struct ll_strip_rest* rest = ll_strip_rest(strip);
    rest->previous = NULL;
    rest->next = *list;
    if (*list != NULL) {
        ll_strip_rest(*list)->previous = strip;
    }
    *list = strip;
}

void ll_strip_unlink(struct ll_strip** list, struct ll_strip* strip) {
    const struct ll_strip_rest* rest = ll_strip_rest(strip);
    if (rest->next != NULL) {
        ll_strip_rest(rest->next)->previous = rest->previous;
    }
    if (rest->previous != NULL) {
        ll_strip_rest(rest->previous)->next = rest->next;
    } else {
        *list = rest->next;
    }
}
