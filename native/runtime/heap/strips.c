#include "heap/strips.h"

#include "heap/strip_spans.h"
#include "heap/strip_table.h"
#include "os/alone.h"

enum {
    // An open strip that so many blocks came and went on is taken from its cursor when
    // it is empty, which may have come to its end.
    WORTH_TAKING = 8,
};

static struct ll_lock strips_lock;
static struct ll_strip* pending; // to be settled; anybody may add
static bool is_over;             // in a forked child

void ll_strips_fork_child(void) {
    is_over = true;
}

// What becomes of a strip that no cursor is in.
static void settle_closed(struct ll_strip* strip, struct ll_span* span) {
    struct ll_cursor* cursor = ll_strip_rest(strip)->cursor;
    if (ll_strip_live(strip) == 0) {
        if (strip->state == LL_STRIP_REUSABLE) {
            ll_strip_unlink(&cursor->reusable, strip);
            ll_strip_set_state(strip, LL_STRIP_CLOSED);
        }
        ll_strip_give_back(strip, span);
    } else if (strip->state == LL_STRIP_CLOSED && ll_strip_is_sparse(strip)) {
        ll_strip_link(&cursor->reusable, strip);
        ll_strip_set_state(strip, LL_STRIP_REUSABLE);
    }
}

static void let_go(struct ll_cursor* cursor) {
    ll_strip_set_state(cursor->strip, LL_STRIP_CLOSED);
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
    if (ll_strip_live(strip) == 0) {
        settle_closed(strip, cursor->span);
    }
}

void ll_strips_close_if_empty(struct ll_cursor* cursor) {
    if (!ll_lock_try(&cursor->lock)) {
        return;
    }
    if (cursor->strip != NULL && ll_strip_live(cursor->strip) == 0) {
        ll_strips_close(cursor);
    }
    ll_lock_drop_unwaited(&cursor->lock);
}

static void settle(struct ll_strip* strip) {
    switch (ll_strip_state(strip)) {
    case LL_STRIP_OPEN:
        ll_strips_close_if_empty(ll_strip_rest(strip)->cursor);
        break;
    case LL_STRIP_CLOSED:
    case LL_STRIP_REUSABLE:
        settle_closed(strip, ll_strip_span(strip));
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
        struct ll_strip* next = ll_strip_rest(strip)->pending_next;
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
        ll_strip_rest(strip)->pending_next = first;
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
    uint16_t* when_empty = &ll_strip_rest(strip)->taken_when_empty;
    uint16_t taken = ll_strip_taken(strip);
    uint16_t before = __atomic_load_n(when_empty, __ATOMIC_RELAXED);
    __atomic_store_n(when_empty, taken, __ATOMIC_RELAXED);
    return (uint16_t)(taken - before) >= WORTH_TAKING;
}

void ll_strip_note_freed(struct ll_strip* strip) {
    uint16_t freed = ll_count_among_threads(&strip->freed);
    uint8_t state = ll_strip_state(strip);
    // The cursor looks itself when it leaves the strip; one of the two sees the other.
    uint16_t live = (uint16_t)(ll_strip_taken(strip) - freed);
    bool are_many = state == LL_STRIP_OPEN
                        ? live == 0 && has_lasted(strip)
                        : live == 0 || live == ll_strip_sparse_at(strip);
    if (LL_UNLIKELY(are_many)) {
        on_many_freed(strip);
    }
}

static void put_at_start(struct ll_cursor* cursor, struct ll_strip* strip) {
    struct ll_span* span = ll_strip_span(strip);
    cursor->strip = strip;
    cursor->span = span;
    cursor->index = ll_strip_first_place(strip, span);
    cursor->end = ll_strip_end_place(strip, span);
    ll_strip_set_state(strip, LL_STRIP_OPEN);
}

bool ll_strips_open_reusable(struct ll_cursor* cursor) {
    struct ll_strip* strip = cursor->reusable;
    if (strip == NULL) {
        return false;
    }
    ll_strip_unlink(&cursor->reusable, strip);
    cursor->is_second_pass = true;
    put_at_start(cursor, strip);
    return true;
}

bool ll_strips_open_free(struct ll_cursor* cursor) {
    struct ll_strip* strip = is_over ? NULL : ll_strip_lend(cursor->class);
    if (strip == NULL) {
        return false;
    }
    struct ll_strip_rest* rest = ll_strip_rest(strip);
    rest->cursor = cursor;
    __atomic_store_n(&rest->taken_when_empty, strip->taken, __ATOMIC_RELAXED);
    cursor->is_second_pass = false;
    put_at_start(cursor, strip);
    uint32_t places = cursor->end - cursor->index;
    __atomic_store_n(&strip->sparse_at, (uint16_t)(places - places / 4),
                     __ATOMIC_RELAXED);
    return true;
}

bool ll_strips_rewind(struct ll_cursor* cursor) {
    if (cursor->strip == NULL || cursor->is_second_pass ||
        ll_strip_live(cursor->strip) != 0) {
        return false;
    }
    cursor->index = ll_strip_first_place(cursor->strip, cursor->span);
    return true;
}
