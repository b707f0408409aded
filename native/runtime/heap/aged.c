#include "heap/aged.h"

#include "heap/arena.h"
#include "heap/page_states.h"
#include "heap/strips.h"
#include "heap/threads.h"
#include "heap/units.h"
#include "os/alone.h"

struct ll_lock ll_aged_lock;

static struct ll_arena cursors;
static size_t cursor_count;
static bool is_over; // in a forked child

bool ll_aged_start(size_t least_pages) {
    return ll_arena_start(&cursors, (size_t)1 << 30) && ll_strips_start(least_pages);
}

void ll_aged_fork_child(void) {
    is_over = true;
    ll_strips_fork_child();
}

static struct ll_cursor* make_cursor(unsigned class) {
    uint64_t mask = ll_lock_take_masked(&ll_aged_lock);
    struct ll_cursor* cursor = ll_arena_take(&cursors, sizeof *cursor);
    if (cursor != NULL) {
        cursor->class = class;
        __atomic_store_n(&cursor_count, cursor_count + 1, __ATOMIC_RELEASE);
    }
    ll_lock_drop_masked(&ll_aged_lock, mask);
    return cursor;
}

// Two threads may each add one for the same class; the later one is found from then on.
static LL_NOINLINE struct ll_cursor* add_cursor(struct ll_aged* aged, unsigned class) {
    struct ll_cursor* made = make_cursor(class);
    if (made == NULL) {
        return NULL;
    }
    struct ll_cursor* first = __atomic_load_n(&aged->cursors, __ATOMIC_ACQUIRE);
    do {
        made->next = first;
    } while (!__atomic_compare_exchange_n(&aged->cursors, &first, made, true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return made;
}

static struct ll_cursor* find_cursor(struct ll_aged* aged, unsigned class) {
    struct ll_cursor* cursor = __atomic_load_n(&aged->cursors, __ATOMIC_ACQUIRE);
    while (cursor != NULL && cursor->class != class) {
        cursor = cursor->next;
    }
    return LL_LIKELY(cursor != NULL) ? cursor : add_cursor(aged, class);
}

uint64_t ll_aged_allocations(void) {
    const struct ll_cursor* all = (const struct ll_cursor*)cursors.start;
    size_t count = __atomic_load_n(&cursor_count, __ATOMIC_ACQUIRE);
    uint64_t result = 0;
    for (size_t i = 0; i < count; i++) {
        result += __atomic_load_n(&all[i].allocated, __ATOMIC_RELAXED);
    }
    return result;
}

bool ll_aged_release(struct ll_span* span, const void* block) {
    uint32_t index = ll_span_index_of_start(span, (uintptr_t)block);
    if (LL_UNLIKELY(!ll_word_is_live(span, index))) {
        return false;
    }
    ll_word_set(span, index, LL_WORD_USED);
    ll_strip_note_freed(ll_strip_of(span, block));
    return true;
}

// Free places of a merged page hold blocks of others.
static bool is_to_be_left(uintptr_t address) {
    return ll_page_is_watched(address) || ll_shelves_is_merged(address);
}

static bool lies_on_one_to_be_left(const struct ll_span* span, uint32_t index) {
    uintptr_t start = span->start + (uintptr_t)index * span->block_size;
    return is_to_be_left(start) || is_to_be_left(start + span->block_size - 1);
}

// The first pass over a strip finds all its places free.
static bool is_at_free_place(const struct ll_cursor* cursor) {
    return cursor->index < cursor->end && !cursor->is_second_pass;
}

// Moves to the next place that can be taken; false at the end of the strip.
static bool seek(struct ll_cursor* cursor) {
    const struct ll_span* span = cursor->span;
    for (; cursor->index < cursor->end; cursor->index++) {
        if (!ll_word_is_live(span, cursor->index) &&
            !(cursor->is_second_pass && lies_on_one_to_be_left(span, cursor->index))) {
            return true;
        }
    }
    return false;
}

static void give_up_empty_strips(void) {
    struct ll_cursor* all = (struct ll_cursor*)cursors.start;
    size_t count = __atomic_load_n(&cursor_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < count; i++) {
        ll_strips_close_if_empty(&all[i]);
    }
}

static void give_up_empty_spans(void) {
    struct ll_turn turn = ll_turn_begin();
    if (turn.heap != NULL) {
        uint64_t mask = ll_lock_take_masked(&ll_units_lock);
        ll_local_give_up_empty(turn.heap);
        ll_lock_drop_masked(&ll_units_lock, mask);
    }
    ll_turn_end(turn);
}

// What others keep without need is used before more memory is. To look for it takes
// longer the larger the heap is, and so is done less often. Under the lock of strips.
static void give_up_empty(void) {
    enum { SHARE = 16 };
    static size_t growths;
    static size_t next;
    growths++;
    if (growths >= next) {
        give_up_empty_strips();
        give_up_empty_spans();
        next = growths + growths / SHARE;
    }
}

// A second pass that gives nothing is followed by another strip.
static bool seek_elsewhere(struct ll_cursor* cursor) {
    ll_strips_close(cursor);
    if (ll_strips_open_reusable(cursor)) {
        if (seek(cursor)) {
            return true;
        }
        ll_strips_close_worn(cursor);
    }
    if (ll_strips_would_grow(cursor->class)) {
        give_up_empty();
    }
    return ll_strips_open_free(cursor);
}

static LL_NOINLINE bool seek_anywhere(struct ll_cursor* cursor) {
    if (ll_strips_rewind(cursor)) {
        return true;
    }
    bool is_found = false;
    if (ll_strips_try_lock()) {
        is_found = seek_elsewhere(cursor);
        ll_strips_unlock();
    }
    return is_found;
}

static struct ll_taken take(struct ll_cursor* cursor, size_t size_bytes, ll_site site) {
    struct ll_span* span = cursor->span;
    struct ll_strip* strip = cursor->strip;
    uint32_t index = cursor->index++;
    uint64_t previous = ll_word_get(span, index);
    uint64_t upper = ll_birth_now() | (uint32_t)size_bytes;
    __atomic_store_n(&strip->taken, (uint16_t)(strip->taken + 1), __ATOMIC_RELAXED);
    __atomic_store_n(&cursor->allocated, cursor->allocated + 1, __ATOMIC_RELAXED);
    ll_keep_order();
    ll_word_set(span, index, upper << LL_WORD_SIZE_SHIFT | site);
    return (struct ll_taken){
        (void*)(span->start + (uintptr_t)index * span->block_size),
        previous == 0 && span->zeroed,
    };
}

static LL_NOINLINE bool try_often(struct ll_lock* lock) {
    enum { TRIES = 64 };
    for (int i = 0; i < TRIES; i++) {
        __builtin_ia32_pause();
        if (ll_lock_try_among_threads(lock)) {
            return true;
        }
    }
    return false;
}

// The strip may be full, or have free places here and there.
static LL_NOINLINE struct ll_taken take_elsewhere(struct ll_cursor* cursor,
                                                  size_t size_bytes, ll_site site) {
    return seek(cursor) || seek_anywhere(cursor) ? take(cursor, size_bytes, site)
                                                 : (struct ll_taken){0};
}

struct ll_taken ll_aged_allocate(struct ll_aged* aged, unsigned class,
                                 size_t size_bytes, ll_site site) {
    struct ll_cursor* cursor = find_cursor(aged, class);
    if (cursor == NULL || is_over ||
        !(LL_LIKELY(ll_lock_try_among_threads(&cursor->lock)) ||
          try_often(&cursor->lock))) {
        return (struct ll_taken){0};
    }
    struct ll_taken taken = LL_LIKELY(is_at_free_place(cursor))
                                ? take(cursor, size_bytes, site)
                                : take_elsewhere(cursor, size_bytes, site);
    ll_lock_drop_unwaited(&cursor->lock);
    if (LL_LIKELY(taken.block != NULL)) {
        ll_page_states_born((uintptr_t)taken.block, size_bytes);
    }
    return taken;
}
