#include "heap/strips.h"

#include "heap/arena.h"
#include "heap/headers.h"
#include "heap/units.h"
#include "os/shelves.h"

enum {
    WASTE_SHARE = 8, // of a strip, that may be lost to places across its borders
    // An open strip that so many blocks came and went on is taken from its cursor when
    // it is empty, which may have come to its end.
    WORTH_TAKING = 8,
};

struct rest {
    struct ll_cursor* cursor; // whose blocks it holds; NULL when it is free
    struct ll_strip* next;    // in the cursor's list, or in that of free strips
    struct ll_strip* previous;
    struct ll_strip* pending_next; // in the list of strips to be settled
    uint16_t taken_when_empty;     // `taken` when no block lived the last time
};

static struct ll_lock strips_lock;
static struct ll_strip* free_strips[LL_CLASS_COUNT]; // used last comes first
static struct ll_strip* pending;                     // to be settled; anybody may add
static uint8_t pages_of_class[LL_CLASS_COUNT];       // of one strip, a power of two
// By page of the range; a strip is at its first page.
static struct ll_arena strip_arena;
static struct ll_arena rest_arena;
static struct ll_strip* table; // NULL: off
static bool is_over;           // in a forked child

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
        pages_of_class[class] = (uint8_t)strip_pages(class, least_pages);
    }
    if (!ll_arena_start(&strip_arena, pages * sizeof(struct ll_strip)) ||
        !ll_arena_start(&rest_arena, pages * sizeof(struct rest))) {
        return false;
    }
    table = (struct ll_strip*)strip_arena.start;
    return true;
}

static bool extend(struct ll_arena* arena, size_t needed_bytes) {
    return needed_bytes <= arena->used_bytes ||
           ll_arena_take(arena, needed_bytes - arena->used_bytes) != NULL;
}

bool ll_strips_extend(size_t used_bytes) {
    size_t pages = used_bytes >> LL_PAGE_SHIFT;
    return table == NULL || (extend(&strip_arena, pages * sizeof(struct ll_strip)) &&
                             extend(&rest_arena, pages * sizeof(struct rest)));
}

static struct rest* rest_of(const struct ll_strip* strip) {
    return &((struct rest*)rest_arena.start)[strip - table];
}

void ll_strips_fork_child(void) {
    is_over = true;
}

static size_t strip_bytes(const struct ll_span* span) {
    return (size_t)pages_of_class[span->class] << LL_PAGE_SHIFT;
}

static struct ll_strip* strip_at(const struct ll_span* span, uintptr_t address) {
    uintptr_t offset = (address - span->start) & ~(uintptr_t)(strip_bytes(span) - 1);
    return &table[(span->start - ll_range.start + offset) >> LL_PAGE_SHIFT];
}

struct ll_strip* ll_strip_of(const struct ll_span* span, uint32_t index) {
    return strip_at(span, span->start + (uintptr_t)index * span->block_size);
}

static uintptr_t start_of(const struct ll_strip* strip) {
    return ll_range.start + ((uintptr_t)(strip - table) << LL_PAGE_SHIFT);
}

static struct ll_span* span_of(const struct ll_strip* strip) {
    return ll_span_of((void*)start_of(strip));
}

static uint32_t first_place(const struct ll_strip* strip, const struct ll_span* span) {
    uintptr_t offset = start_of(strip) - span->start;
    return (uint32_t)((offset + span->block_size - 1) / span->block_size);
}

static uint32_t end_place(const struct ll_strip* strip, const struct ll_span* span) {
    uintptr_t offset = start_of(strip) - span->start + strip_bytes(span);
    return (uint32_t)(offset / span->block_size);
}

static uint8_t state_of(const struct ll_strip* strip) {
    return __atomic_load_n(&strip->state, __ATOMIC_SEQ_CST);
}

static void set_state(struct ll_strip* strip, enum ll_strip_state state) {
    __atomic_store_n(&strip->state, (uint8_t)state, __ATOMIC_SEQ_CST);
}

static uint16_t taken_on(const struct ll_strip* strip) {
    return __atomic_load_n(&strip->taken, __ATOMIC_RELAXED);
}

static uint16_t live_on(const struct ll_strip* strip) {
    uint16_t freed = __atomic_load_n(&strip->freed, __ATOMIC_SEQ_CST);
    return (uint16_t)(taken_on(strip) - freed);
}

static uint16_t half_of(const struct ll_strip* strip) {
    return __atomic_load_n(&strip->half, __ATOMIC_RELAXED);
}

bool ll_strip_is_sparse(const struct ll_strip* strip) {
    return live_on(strip) <= half_of(strip);
}

static void link_into(struct ll_strip** list, struct ll_strip* strip) {
    struct rest* rest = rest_of(strip);
    rest->previous = NULL;
    rest->next = *list;
    if (*list != NULL) {
        rest_of(*list)->previous = strip;
    }
    *list = strip;
}

static void unlink_from(struct ll_strip** list, struct ll_strip* strip) {
    const struct rest* rest = rest_of(strip);
    if (rest->next != NULL) {
        rest_of(rest->next)->previous = rest->previous;
    }
    if (rest->previous != NULL) {
        rest_of(rest->previous)->next = rest->next;
    } else {
        *list = rest->next;
    }
}

// In the header of a span with strips `head` counts those in use. (What concerns frees
// by other threads is not ours: a header may be in a list of theirs from its last use.)
static bool make_span(unsigned class) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    size_t unit_count = ll_classes[class].unit_count;
    struct ll_run run;
    struct ll_span* span = NULL;
    if (ll_units_take(unit_count, 1, LL_PAGES_ANY, &run)) {
        span = ll_header_take_small(class);
        if (span == NULL) {
            ll_units_give(run.start, unit_count, LL_PAGES_ANY);
        }
    }
    if (span != NULL) {
        span->start = run.start;
        span->zeroed = run.zeroed;
        span->used = span->capacity; // at most; strips have the counts
        span->head = 0;
        __atomic_store_n(&span->owner, LL_OWNER_AGED, __ATOMIC_SEQ_CST);
        ll_units_bind(span);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    for (size_t i = span == NULL ? 0 : span_pages(class); i > 0;) {
        i -= pages_of_class[class];
        link_into(&free_strips[class],
                  strip_at(span, span->start + (i << LL_PAGE_SHIFT)));
    }
    return span != NULL;
}

static void dissolve(struct ll_span* span) {
    uintptr_t start = span->start;
    uint32_t unit_count = span->unit_count;
    for (uintptr_t at = start; at < ll_span_end(span); at += strip_bytes(span)) {
        unlink_from(&free_strips[span->class], strip_at(span, at));
    }
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    __atomic_store_n(&span->owner, LL_OWNER_NONE, __ATOMIC_SEQ_CST);
    ll_header_give(span);
    ll_units_give(start, unit_count, LL_PAGES_ANY);
    ll_lock_drop_masked(&ll_units_lock, mask);
}

static bool leaves_its_shelf(const struct ll_strip* strip, const struct ll_span* span) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    bool result = ll_shelves_part(start_of(strip), strip_bytes(span));
    ll_lock_drop_masked(&ll_units_lock, mask);
    return result;
}

// A page that cannot leave its shelf would be lent to others with it, so then the empty
// strip stays as it is, for good.
static void give_back(struct ll_strip* strip, struct ll_span* span) {
    if (ll_shelves_totals().merged_pages > 0 && !leaves_its_shelf(strip, span)) {
        return;
    }
    rest_of(strip)->cursor = NULL;
    set_state(strip, LL_STRIP_FREE);
    link_into(&free_strips[span->class], strip);
    if (--span->head == 0) {
        dissolve(span);
    }
}

// What becomes of a strip that no cursor is in.
static void settle_closed(struct ll_strip* strip, struct ll_span* span) {
    struct ll_cursor* cursor = rest_of(strip)->cursor;
    if (live_on(strip) == 0) {
        if (strip->state == LL_STRIP_REUSABLE) {
            unlink_from(&cursor->reusable, strip);
            set_state(strip, LL_STRIP_CLOSED);
        }
        give_back(strip, span);
    } else if (strip->state == LL_STRIP_CLOSED && ll_strip_is_sparse(strip)) {
        link_into(&cursor->reusable, strip);
        set_state(strip, LL_STRIP_REUSABLE);
    }
}

static void let_go(struct ll_cursor* cursor) {
    set_state(cursor->strip, LL_STRIP_CLOSED);
    cursor->strip = NULL;
    cursor->index = 0;
    cursor->end = 0;
}

void ll_strips_close(struct ll_cursor* cursor) {
    struct ll_strip* strip = cursor->strip;
    if (strip != NULL) {
        let_go(cursor);
        settle_closed(strip, cursor->span);
    }
}

void ll_strips_close_worn(struct ll_cursor* cursor) {
    struct ll_strip* strip = cursor->strip;
    let_go(cursor);
    if (live_on(strip) == 0) {
        settle_closed(strip, cursor->span);
    }
}

void ll_strips_close_if_empty(struct ll_cursor* cursor) {
    if (!ll_lock_try(&cursor->lock)) {
        return;
    }
    if (cursor->strip != NULL && live_on(cursor->strip) == 0) {
        ll_strips_close(cursor);
    }
    ll_lock_drop_unwaited(&cursor->lock);
}

static void settle(struct ll_strip* strip) {
    switch (state_of(strip)) {
    case LL_STRIP_OPEN:
        ll_strips_close_if_empty(rest_of(strip)->cursor);
        break;
    case LL_STRIP_CLOSED:
    case LL_STRIP_REUSABLE:
        settle_closed(strip, span_of(strip));
        break;
    default: // given back meanwhile
        break;
    }
}

// A strip may have become another one since it was noted.
static void settle_pending(void) {
    struct ll_strip* strip = NULL;
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) != NULL && !is_over) {
        strip = __atomic_exchange_n(&pending, NULL, __ATOMIC_ACQ_REL);
    }
    while (strip != NULL) {
        struct ll_strip* next = rest_of(strip)->pending_next;
        __atomic_store_n(&strip->is_pending, false, __ATOMIC_SEQ_CST);
        settle(strip);
        strip = next;
    }
}

bool ll_strips_try_lock(void) {
    enum { TRIES = 64 };
    for (int i = 0; i < TRIES; i++) {
        if (ll_lock_try(&strips_lock)) {
            settle_pending();
            return true;
        }
        __builtin_ia32_pause();
    }
    return false;
}

void ll_strips_unlock(void) {
    ll_lock_drop_unwaited(&strips_lock);
}

static void add_to_pending(struct ll_strip* strip) {
    if (__atomic_exchange_n(&strip->is_pending, true, __ATOMIC_SEQ_CST)) {
        return;
    }
    struct ll_strip* first = __atomic_load_n(&pending, __ATOMIC_RELAXED);
    do {
        rest_of(strip)->pending_next = first;
    } while (!__atomic_compare_exchange_n(&pending, &first, strip, true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// What is pending when the lock is taken waits for whoever takes it next.
static LL_NOINLINE void on_many_freed(struct ll_strip* strip) {
    add_to_pending(strip);
    if (ll_lock_try(&strips_lock)) {
        settle_pending();
        ll_lock_drop_unwaited(&strips_lock);
    }
}

static bool has_lasted(struct ll_strip* strip) {
    uint16_t* when_empty = &rest_of(strip)->taken_when_empty;
    uint16_t taken = taken_on(strip);
    uint16_t before = __atomic_load_n(when_empty, __ATOMIC_RELAXED);
    __atomic_store_n(when_empty, taken, __ATOMIC_RELAXED);
    return (uint16_t)(taken - before) >= WORTH_TAKING;
}

void ll_strip_note_freed(struct ll_strip* strip) {
    uint16_t freed = __atomic_add_fetch(&strip->freed, 1, __ATOMIC_SEQ_CST);
    uint8_t state = state_of(strip);
    // The cursor looks itself when it leaves the strip; one of the two sees the other.
    uint16_t live = (uint16_t)(taken_on(strip) - freed);
    bool are_many = state == LL_STRIP_OPEN ? live == 0 && has_lasted(strip)
                                           : live == 0 || live == half_of(strip);
    if (LL_UNLIKELY(are_many)) {
        on_many_freed(strip);
    }
}

static void put_at_start(struct ll_cursor* cursor, struct ll_strip* strip) {
    struct ll_span* span = span_of(strip);
    cursor->strip = strip;
    cursor->span = span;
    cursor->index = first_place(strip, span);
    cursor->end = end_place(strip, span);
    set_state(strip, LL_STRIP_OPEN);
}

bool ll_strips_would_grow(unsigned class) {
    if (free_strips[class] != NULL) {
        return false;
    }
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    bool result = !ll_units_has_dirty(ll_classes[class].unit_count);
    ll_lock_drop_masked(&ll_units_lock, mask);
    return result;
}

bool ll_strips_open_reusable(struct ll_cursor* cursor) {
    struct ll_strip* strip = cursor->reusable;
    if (strip == NULL) {
        return false;
    }
    unlink_from(&cursor->reusable, strip);
    cursor->is_second_pass = true;
    put_at_start(cursor, strip);
    return true;
}

bool ll_strips_open_free(struct ll_cursor* cursor) {
    struct ll_strip** list = &free_strips[cursor->class];
    if (is_over || (*list == NULL && !make_span(cursor->class))) {
        return false;
    }
    struct ll_strip* strip = *list;
    unlink_from(list, strip);
    rest_of(strip)->cursor = cursor;
    __atomic_store_n(&rest_of(strip)->taken_when_empty, strip->taken, __ATOMIC_RELAXED);
    cursor->is_second_pass = false;
    put_at_start(cursor, strip);
    __atomic_store_n(&strip->half, (uint16_t)((cursor->end - cursor->index) / 2),
                     __ATOMIC_RELAXED);
    cursor->span->head++;
    return true;
}

bool ll_strips_rewind(struct ll_cursor* cursor) {
    if (cursor->strip == NULL || cursor->is_second_pass ||
        live_on(cursor->strip) != 0) {
        return false;
    }
    cursor->index = first_place(cursor->strip, cursor->span);
    return true;
}

const struct ll_strip* ll_strips_closed_at(uintptr_t page) {
    const struct ll_span* span = ll_span_of((void*)page);
    if (__atomic_load_n(&span->kind, __ATOMIC_RELAXED) != LL_SPAN_SMALL ||
        __atomic_load_n(&span->owner, __ATOMIC_SEQ_CST) != LL_OWNER_AGED) {
        return NULL;
    }
    const struct ll_strip* strip = strip_at(span, page);
    uint8_t state = state_of(strip);
    return state == LL_STRIP_CLOSED || state == LL_STRIP_REUSABLE ? strip : NULL;
}
