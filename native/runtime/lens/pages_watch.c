#include "lens/pages_watch.h"

#include <stddef.h>

#include "heap/page_states.h"
#include "heap/span.h"
#include "os/memory.h"

enum {
    SEARCH_MAX = 1 << 20, // pages that a search may pass over in vain
    RUN_MAX = 512,
    CHUNK = 512, // pages that are scanned together or not at all
};

static size_t page_count(void) {
    return __atomic_load_n(&ll_page_states.count, __ATOMIC_ACQUIRE);
}

static uintptr_t address_of(size_t page) {
    return ll_page_states.start + (page << LL_PAGE_SHIFT);
}

static uint64_t get(size_t page) {
    return __atomic_load_n(&ll_page_states.table[page], __ATOMIC_RELAXED);
}

static bool is_watched(uint64_t state) {
    return (state & LL_PAGE_TIME) >= LL_PAGE_FIRST;
}

// The first page from `page` on, by chunks, of one that has some watched page or, if
// not `is_wanted`, that has none.
static size_t next_chunk(size_t page, size_t count, bool is_wanted) {
    for (; page < count; page += CHUNK) {
        size_t end = page + CHUNK < count ? page + CHUNK : count;
        bool is_any = false;
        for (size_t at = page; at < end && !is_any; at++) {
            is_any = is_watched(get(at));
        }
        if (is_any == is_wanted) {
            return page;
        }
    }
    return count;
}

static void note_present(uintptr_t start, uintptr_t end, void* context) {
    struct ll_watch* watch = context;
    for (; start < end; start += LL_PAGE_SIZE) {
        uint64_t* state = ll_page_state(start);
        uint64_t before = __atomic_load_n(state, __ATOMIC_RELAXED);
        if (is_watched(before)) {
            watch->touches++;
            __atomic_store_n(state, LL_PAGE_SEEN | LL_PAGE_REST, __ATOMIC_RELAXED);
        } else if ((before & ~LL_PAGE_REST) != LL_PAGE_SEEN) {
            __atomic_store_n(state, LL_PAGE_SEEN, __ATOMIC_RELAXED);
        }
    }
}

// The allocator ends watches too, so they are counted anew. The program pays for those
// as for touches.
static void count_watched(struct ll_watch* watch) {
    size_t count = page_count();
    uint64_t births = __atomic_load_n(&ll_page_states.births, __ATOMIC_RELAXED);
    watch->touches += births - watch->births;
    watch->births = births;
    uint64_t watched = 0;
    for (size_t page = 0; page < count; page++) {
        watched += is_watched(get(page));
    }
    watch->watched_pages = watched;
}

static uint64_t reclaimed(const struct ll_watch* watch) {
    return watch->reclaimed == NULL ? 0 : watch->reclaimed();
}

static bool change(size_t page, uint64_t from, uint64_t to) {
    uint64_t before = get(page);
    uint64_t seen = before & LL_PAGE_SEEN;
    return (before & LL_PAGE_TIME) == from &&
           __atomic_compare_exchange_n(&ll_page_states.table[page], &before, seen | to,
                                       false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static void begin_anew(uint64_t since_ms) {
    size_t count = page_count();
    for (size_t page = 0; page < count; page++) {
        uint64_t state = get(page);
        if (is_watched(state)) {
            change(page, state & LL_PAGE_TIME,
                   LL_PAGE_SEEN | (since_ms + LL_PAGE_FIRST));
        }
    }
}

// What is not watched may be in use or not: in a large heap the kernel is asked about
// the rest only.
static bool note_touches(struct ll_watch* watch, const struct ll_presence* presence) {
    size_t count = page_count();
    size_t first = next_chunk(0, count, true);
    while (first < count) {
        size_t end = next_chunk(first, count, false);
        if (!ll_presence_visit(presence, address_of(first), address_of(end),
                               note_present, watch)) {
            return false;
        }
        first = next_chunk(end, count, true);
    }
    return true;
}

bool ll_watch_scan(struct ll_watch* watch, const struct ll_presence* presence,
                   ll_watch_clock* clock) {
    uint64_t before = reclaimed(watch);
    watch->scans++;
    if (!note_touches(watch, presence)) {
        ll_watch_end(watch);
        return false;
    }
    if (reclaimed(watch) != watch->last_reclaimed) {
        begin_anew(clock() / 1000000);
        watch->has_begun_anew |= watch->watched_pages > 0;
    }
    watch->last_reclaimed = before;
    count_watched(watch);
    return true;
}

bool ll_watch_is_untouched(struct ll_watch* watch, const struct ll_presence* presence,
                           uintptr_t page) {
    return ll_presence_visit(presence, page, page + LL_PAGE_SIZE, note_present,
                             watch) &&
           is_watched(*ll_page_state(page));
}

// A page that was touched is left alone the next few times: what is in use is likely to
// stay so, and what is not comes to be watched the sooner.
static bool rests(size_t page, uint64_t state) {
    const uint64_t rest_once = UINT64_C(1) << LL_PAGE_REST_SHIFT;
    if ((state & LL_PAGE_REST) == 0) {
        return false;
    }
    (void)__atomic_compare_exchange_n(&ll_page_states.table[page], &state,
                                      state - rest_once, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED);
    return true;
}

// Only memory that belongs to some span. Spans come and go meanwhile; a page that is
// watched in vain does no harm.
static bool is_worth_watching(size_t page) {
    uint64_t state = get(page);
    if ((state & LL_PAGE_TIME) != LL_PAGE_ACTIVE || rests(page, state)) {
        return false;
    }
    const struct ll_span* span = ll_span_at((uintptr_t)page << LL_PAGE_SHIFT);
    uint8_t kind = __atomic_load_n(&span->kind, __ATOMIC_RELAXED);
    return kind == LL_SPAN_SMALL || kind == LL_SPAN_LARGE;
}

// Memory that was ever touched is in the file from then on, or in swap.
static void note_seen(const struct ll_watch* watch, size_t first, size_t count) {
    uint8_t in_file[RUN_MAX];
    bool is_known =
        watch->last_reclaimed == 0 &&
        ll_presence_in_file(address_of(first), count << LL_PAGE_SHIFT, in_file);
    for (size_t i = 0; i < count; i++) {
        if (!is_known || in_file[i] != 0) {
            __atomic_or_fetch(&ll_page_states.table[first + i], LL_PAGE_SEEN,
                              __ATOMIC_RELAXED);
        }
    }
}

// The time is taken after the pages are out: a touch before that does not show. A block
// that is born meanwhile ends what is pending, so that no watch is older than it.
static void watch_run(struct ll_watch* watch, size_t first, size_t count,
                      ll_watch_clock* clock) {
    for (size_t i = 0; i < count; i++) {
        change(first + i, LL_PAGE_ACTIVE, LL_PAGE_PENDING);
    }
    bool is_out = ll_presence_drop(address_of(first), count << LL_PAGE_SHIFT);
    uint64_t since = is_out ? clock() / 1000000 + LL_PAGE_FIRST : LL_PAGE_ACTIVE;
    for (size_t i = 0; i < count; i++) {
        bool is_changed = change(first + i, LL_PAGE_PENDING, since);
        watch->watched_pages += is_changed && is_out;
    }
    note_seen(watch, first, count);
}

static size_t run_length(size_t first, size_t limit) {
    size_t length = 0;
    while (length < limit && is_worth_watching(first + length)) {
        length++;
    }
    return length;
}

void ll_watch_extend(struct ll_watch* watch, uint64_t most_pages,
                     ll_watch_clock* clock) {
    size_t count = page_count();
    size_t left = count < SEARCH_MAX ? count : SEARCH_MAX;
    uint64_t target = watch->target_pages;
    if (target > watch->watched_pages && target - watch->watched_pages > most_pages) {
        target = watch->watched_pages + most_pages;
    }
    while (watch->watched_pages < target && left > 0) {
        if (watch->hand >= count) {
            watch->hand = 0;
        }
        size_t limit = count - watch->hand;
        uint64_t wanted = target - watch->watched_pages;
        limit = limit < wanted ? limit : wanted;
        limit = limit < RUN_MAX ? limit : RUN_MAX;
        limit = limit < left ? limit : left;
        size_t length = run_length(watch->hand, limit);
        if (length > 0) {
            watch_run(watch, watch->hand, length, clock);
        }
        size_t passed = length < limit ? length + 1 : length;
        watch->hand += passed;
        left -= passed < left ? passed : left;
    }
}

void ll_watch_drop_again(void) {
    size_t count = page_count();
    for (size_t page = 0; page < count; page++) {
        size_t first = page;
        while (page < count && is_watched(get(page))) {
            page++;
        }
        if (page > first) {
            ll_presence_drop(address_of(first), (page - first) << LL_PAGE_SHIFT);
        }
    }
}

void ll_watch_end(struct ll_watch* watch) {
    size_t count = page_count();
    for (size_t page = 0; page < count; page++) {
        __atomic_store_n(&ll_page_states.table[page], LL_PAGE_SEEN, __ATOMIC_RELAXED);
    }
    watch->watched_pages = 0;
}
