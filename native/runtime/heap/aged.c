// In the header of an aged span `used` counts the places that were ever taken, `remote`
// those of them that are free again, and `pending_next` is its cursor.
#include "heap/aged.h"

#include "heap/arena.h"
#include "heap/headers.h"
#include "heap/page_states.h"
#include "heap/threads.h"
#include "heap/units.h"

struct ll_aged_cursor {
    struct ll_aged_cursor* next; // of the same context
    struct ll_lock lock; // never waited for: whoever finds it taken goes elsewhere
    uint32_t class;
    struct ll_span* span; // NULL: none
    uint32_t index;       // first place of the span that was not looked at yet
    bool is_second_pass;  // the span was full before
    struct ll_span* reusable;
};

struct ll_lock ll_aged_lock;

static struct ll_arena cursors;
static bool is_over; // in a forked child

bool ll_aged_start(void) {
    return ll_arena_start(&cursors, (size_t)1 << 30);
}

void ll_aged_fork_child(void) {
    is_over = true;
}

static struct ll_aged_cursor* cursor_of(const struct ll_span* span) {
    return (struct ll_aged_cursor*)span->pending_next;
}

static struct ll_aged_cursor* make_cursor(unsigned class) {
    uint64_t mask = ll_lock_take_masked(&ll_aged_lock);
    struct ll_aged_cursor* cursor = ll_arena_take(&cursors, sizeof *cursor);
    ll_lock_drop_masked(&ll_aged_lock, mask);
    if (cursor != NULL) {
        cursor->class = class;
    }
    return cursor;
}

static struct ll_aged_cursor* find_cursor(struct ll_aged* aged, unsigned class) {
    struct ll_aged_cursor* first = __atomic_load_n(&aged->cursors, __ATOMIC_ACQUIRE);
    for (struct ll_aged_cursor* at = first; at != NULL; at = at->next) {
        if (at->class == class) {
            return at;
        }
    }
    struct ll_aged_cursor* made = make_cursor(class);
    if (made == NULL) {
        return NULL;
    }
    // Two threads may each add one for the same class; the later one is found from then
    // on.
    do {
        made->next = first;
    } while (!__atomic_compare_exchange_n(&aged->cursors, &first, made, true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return made;
}

static uint8_t list_of(const struct ll_span* span) {
    return __atomic_load_n(&span->list, __ATOMIC_SEQ_CST);
}

static void set_list(struct ll_span* span, uint8_t list) {
    __atomic_store_n(&span->list, list, __ATOMIC_SEQ_CST);
}

static uint32_t freed_in(const struct ll_span* span) {
    return __atomic_load_n(&span->remote, __ATOMIC_SEQ_CST);
}

static bool is_empty(const struct ll_span* span) {
    return freed_in(span) == __atomic_load_n(&span->used, __ATOMIC_SEQ_CST);
}

static bool is_half_empty(const struct ll_span* span) {
    return freed_in(span) >= span->capacity / 2;
}

static void unlink_reusable(struct ll_span* span) {
    if (span->next != NULL) {
        span->next->previous = span->previous;
    }
    if (span->previous != NULL) {
        span->previous->next = span->next;
    } else {
        cursor_of(span)->reusable = span->next;
    }
    span->next = NULL;
    span->previous = NULL;
}

static void link_reusable(struct ll_span* span) {
    struct ll_aged_cursor* cursor = cursor_of(span);
    span->previous = NULL;
    span->next = cursor->reusable;
    if (span->next != NULL) {
        span->next->previous = span;
    }
    cursor->reusable = span;
    set_list(span, LL_LIST_REUSABLE);
}

// A page that cannot leave its shelf would be lent to others with it, so then the empty
// span stays as it is, for good.
static void dissolve(struct ll_span* span) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    uintptr_t start = span->start;
    uint32_t unit_count = span->unit_count;
    if (!ll_shelves_part(start, (size_t)unit_count << LL_UNIT_SHIFT)) {
        set_list(span, LL_LIST_NONE);
        ll_lock_drop_masked(&ll_units_lock, mask);
        return;
    }
    __atomic_store_n(&span->owner, LL_OWNER_NONE, __ATOMIC_SEQ_CST);
    __atomic_store_n(&span->remote, 0, __ATOMIC_RELAXED);
    span->pending_next = NULL;
    set_list(span, LL_LIST_NONE);
    ll_header_give(span);
    ll_units_give(start, unit_count, LL_PAGES_ANY);
    ll_lock_drop_masked(&ll_units_lock, mask);
}

// What becomes of a span that no cursor is in. Under the lock of aged spans.
static void settle(struct ll_span* span) {
    if (is_empty(span)) {
        if (span->list == LL_LIST_REUSABLE) {
            unlink_reusable(span);
        }
        dissolve(span);
    } else if (span->list == LL_LIST_NONE && is_half_empty(span)) {
        link_reusable(span);
    }
}

// Many blocks of the span are free by now. It may be gone already, since others may
// have freed the rest meanwhile.
static LL_NOINLINE void on_many_freed(struct ll_span* span) {
    uint64_t mask = ll_lock_take_masked(&ll_aged_lock);
    if (span->owner == LL_OWNER_AGED && span->list != LL_LIST_OPEN && !is_over) {
        settle(span);
    }
    ll_lock_drop_masked(&ll_aged_lock, mask);
}

bool ll_aged_release(struct ll_span* span, uint32_t index) {
    if (index >= span->capacity || !ll_word_is_live(span, index)) {
        return false;
    }
    uint32_t half = span->capacity / 2;
    ll_word_set(span, index, LL_WORD_USED);
    uint32_t freed = __atomic_add_fetch(&span->remote, 1, __ATOMIC_SEQ_CST);
    bool are_many =
        freed == half || freed == __atomic_load_n(&span->used, __ATOMIC_SEQ_CST);
    // Its cursor looks itself when it leaves the span; one of the two sees the other.
    if (LL_UNLIKELY(are_many) && list_of(span) != LL_LIST_OPEN) {
        on_many_freed(span);
    }
    return true;
}

static struct ll_span* make_span(struct ll_aged_cursor* cursor) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    size_t unit_count = ll_classes[cursor->class].unit_count;
    struct ll_run run;
    struct ll_span* span = NULL;
    if (ll_units_take(unit_count, 1, LL_PAGES_ANY, &run)) {
        span = ll_header_take_small(cursor->class);
        if (span == NULL) {
            ll_units_give(run.start, unit_count, LL_PAGES_ANY);
        }
    }
    if (span != NULL) {
        span->start = run.start;
        span->zeroed = run.zeroed;
        span->pending_next = (struct ll_span*)cursor;
        __atomic_store_n(&span->remote, 0, __ATOMIC_RELAXED);
        set_list(span, LL_LIST_OPEN);
        __atomic_store_n(&span->owner, LL_OWNER_AGED, __ATOMIC_SEQ_CST);
        ll_units_bind(span);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    return span;
}

// Leaves the cursor's span; `is_worn` when it had no place on any page in use.
static void close_span(struct ll_aged_cursor* cursor, bool is_worn) {
    struct ll_span* span = cursor->span;
    cursor->span = NULL;
    if (span == NULL) {
        return;
    }
    set_list(span, LL_LIST_NONE);
    if (!is_worn || is_empty(span)) {
        settle(span);
    }
}

// Puts the cursor at the start of a span: one to be used again, or a new one.
static bool open_next(struct ll_aged_cursor* cursor, bool is_worn) {
    uint64_t mask = ll_lock_take_masked(&ll_aged_lock);
    close_span(cursor, is_worn);
    struct ll_span* span = is_worn ? NULL : cursor->reusable;
    cursor->is_second_pass = span != NULL;
    if (span != NULL) {
        unlink_reusable(span);
        set_list(span, LL_LIST_OPEN);
    } else {
        span = make_span(cursor);
    }
    cursor->span = span;
    cursor->index = 0;
    ll_lock_drop_masked(&ll_aged_lock, mask);
    return span != NULL;
}

// Free places of a merged page hold blocks of others.
static bool is_to_be_left(uintptr_t address) {
    return ll_page_is_watched(address) || ll_shelves_is_merged(address);
}

static bool lies_on_one_to_be_left(const struct ll_span* span, uint32_t index) {
    uintptr_t start = span->start + (uintptr_t)index * span->block_size;
    return is_to_be_left(start) || is_to_be_left(start + span->block_size - 1);
}

// Moves to the next place that can be taken; false at the end of the span.
static bool seek(struct ll_aged_cursor* cursor) {
    struct ll_span* span = cursor->span;
    if (span == NULL) {
        return false;
    }
    for (; cursor->index < span->capacity; cursor->index++) {
        if (!ll_word_is_live(span, cursor->index) &&
            !(cursor->is_second_pass && lies_on_one_to_be_left(span, cursor->index))) {
            return true;
        }
    }
    return false;
}

// A second pass that gives nothing is followed by a new span.
static bool seek_anywhere(struct ll_aged_cursor* cursor) {
    if (LL_LIKELY(seek(cursor))) {
        return true;
    }
    return open_next(cursor, false) && (seek(cursor) || open_next(cursor, true));
}

static void* take(struct ll_aged_cursor* cursor, size_t size_bytes, ll_site site,
                  bool* is_fresh) {
    struct ll_span* span = cursor->span;
    uint32_t index = cursor->index++;
    uint64_t previous = ll_word_get(span, index);
    uint64_t upper = ll_birth_now() | (uint32_t)size_bytes;
    if (previous == 0) {
        // Seen by whoever frees at the latest when the list of the span changes.
        __atomic_store_n(&span->used, span->used + 1, __ATOMIC_RELEASE);
    } else {
        __atomic_sub_fetch(&span->remote, 1, __ATOMIC_SEQ_CST);
    }
    ll_keep_order();
    ll_word_set(span, index, upper << LL_WORD_SIZE_SHIFT | site);
    span->allocated++;
    *is_fresh = previous == 0 && span->zeroed;
    return (void*)(span->start + (uintptr_t)index * span->block_size);
}

static bool try_often(struct ll_lock* lock) {
    enum { TRIES = 64 };
    for (int i = 0; i < TRIES; i++) {
        if (ll_lock_try(lock)) {
            return true;
        }
        __builtin_ia32_pause();
    }
    return false;
}

void* ll_aged_allocate(struct ll_aged* aged, unsigned class, size_t size_bytes,
                       ll_site site, bool* is_fresh) {
    struct ll_aged_cursor* cursor = find_cursor(aged, class);
    if (cursor == NULL || is_over || !try_often(&cursor->lock)) {
        return NULL;
    }
    void* block = NULL;
    if (LL_LIKELY(seek_anywhere(cursor))) {
        block = take(cursor, size_bytes, site, is_fresh);
    }
    ll_lock_drop(&cursor->lock);
    if (block != NULL) {
        ll_fork_note_allocation();
        ll_page_states_born((uintptr_t)block, size_bytes);
    }
    return block;
}
