#include "lens/pages_merge.h"

#include <time.h>

#include "base/attributes.h"
#include "heap/aged.h"
#include "heap/page_states.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/memory.h"
#include "os/shelves.h"
#include "os/syscall.h"

enum {
    CANDIDATES = 256, // pages that one stop deals with
    WORTH_A_STOP = 16,
    COLD_MS = 1000,       // idle for that long
    SEARCH_MAX = 1 << 16, // pages looked at in one search
    SHELVES_TRIED = 64,
    STOP_SHARE = 100, // a stop may take one part in so many of the processor time
};

// A page that waits for another one to share a shelf with.
struct candidate {
    uintptr_t page;
    uint32_t class;
    struct ll_granules used;
};

struct ll_merging ll_merging;

static LL_BULK uintptr_t found[CANDIDATES];
static size_t found_count;
static size_t hand;           // page where the next search begins
static uint64_t next_stop_ns; // processor time before which no other stop is due

static LL_BULK struct candidate waiting[CANDIDATES];
static size_t waiting_count;

void ll_merging_start(void) {
    ll_merging.is_on = ll_shelves_start();
}

static uintptr_t address_of(size_t page) {
    return ll_page_states.start + (page << LL_PAGE_SHIFT);
}

// Memory that was never used takes none.
static bool is_cold(size_t page, uint64_t now_ms) {
    uint64_t state = __atomic_load_n(&ll_page_states.table[page], __ATOMIC_RELAXED);
    uint64_t time = state & LL_PAGE_TIME;
    return (state & LL_PAGE_SEEN) != 0 && time >= LL_PAGE_FIRST &&
           now_ms >= time - LL_PAGE_FIRST + COLD_MS;
}

// A request that went by, since a look was under way, is made again after ever more
// scans.
static bool is_awaited(void) {
    static unsigned waited;
    static unsigned patience = 16;
    if (found_count == 0 || ++waited < patience) {
        return found_count > 0;
    }
    waited = 0;
    patience *= 2;
    found_count = 0;
    return false;
}

bool ll_merging_is_worth_it(uint64_t now_ms, uint64_t cpu_ns) {
    size_t count = __atomic_load_n(&ll_page_states.count, __ATOMIC_ACQUIRE);
    size_t left = count < SEARCH_MAX ? count : SEARCH_MAX;
    if (!ll_merging.is_on || is_awaited() || cpu_ns < next_stop_ns ||
        ll_shelves_totals().merged_pages >= ll_shelves_budget()) {
        return false;
    }
    for (; left > 0 && found_count < CANDIDATES; left--, hand++) {
        hand = hand < count ? hand : 0;
        uintptr_t address = address_of(hand);
        if (is_cold(hand, now_ms) && !ll_shelves_is_merged(address) &&
            ll_aged_is_sparse(address)) {
            found[found_count++] = address;
        }
    }
    if (found_count < WORTH_A_STOP) {
        found_count = 0;
    }
    return found_count > 0;
}

static bool fits(const struct ll_shelf* shelf, const struct candidate* candidate) {
    return shelf->count > 0 && shelf->count < LL_SHELF_PAGES &&
           shelf->class == candidate->class &&
           !ll_granules_overlap(&shelf->used, &candidate->used);
}

// The first shelf that has room, of those made last.
static uint32_t find_shelf(const struct candidate* candidate) {
    static uint32_t last = 1;
    while (ll_shelves_get(last + 1) != NULL) {
        last++;
    }
    uint32_t tried = 0;
    for (uint32_t number = last; number > 0 && tried < SHELVES_TRIED; number--) {
        const struct ll_shelf* shelf = ll_shelves_get(number);
        if (shelf != NULL && fits(shelf, candidate)) {
            return number;
        }
        tried++;
    }
    return 0;
}

static struct candidate* find_partner(const struct candidate* candidate) {
    for (size_t i = 0; i < waiting_count; i++) {
        if (waiting[i].class == candidate->class &&
            !ll_granules_overlap(&waiting[i].used, &candidate->used)) {
            return &waiting[i];
        }
    }
    return NULL;
}

static bool join(uint32_t shelf, const struct candidate* one) {
    return ll_shelves_join(shelf, one->page, one->class, &one->used) != 0;
}

// False when there is no going on: memory or mappings ran out.
static bool merge(const struct candidate* candidate) {
    uint32_t shelf = find_shelf(candidate);
    if (shelf != 0) {
        return join(shelf, candidate);
    }
    struct candidate* partner = find_partner(candidate);
    if (partner == NULL) {
        waiting[waiting_count++] = *candidate;
        return true;
    }
    shelf = ll_shelves_join(0, partner->page, partner->class, &partner->used);
    *partner = waiting[--waiting_count];
    return shelf != 0 && join(shelf, candidate);
}

// A page without any block needs no shelf; it reads as zeros when it is used next.
static bool save(const struct candidate* candidate) {
    if (ll_granules_count(&candidate->used) > 0) {
        return merge(candidate);
    }
    ll_backing_empty(ll_shelves_place(candidate->page), LL_PAGE_SIZE);
    ll_page_states_cleared(candidate->page, LL_PAGE_SIZE);
    ll_merging.emptied_pages++;
    return true;
}

static uint64_t now_ns(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void account(uint64_t spent_ns) {
    ll_merging.passes++;
    ll_merging.stopped_ns += spent_ns;
    if (spent_ns > ll_merging.longest_ns) {
        ll_merging.longest_ns = spent_ns;
    }
    next_stop_ns = ll_pages_own_cpu_ns() + spent_ns * STOP_SHARE;
}

// A page that was touched after the last scan must not lose the trace of it.
void ll_merging_do(const struct ll_presence* presence) {
    uint64_t began_ns = now_ns();
    size_t budget = ll_shelves_budget();
    bool goes_on = true;
    waiting_count = 0;
    for (size_t i = 0; i < found_count && goes_on; i++) {
        struct candidate candidate = {.page = found[i]};
        if (ll_watch_is_untouched(&ll_pages.watch, presence, found[i]) &&
            !ll_shelves_is_merged(found[i]) &&
            ll_aged_use_of_page(found[i], &candidate.used, &candidate.class)) {
            goes_on =
                save(&candidate) && ll_shelves_totals().merged_pages + 2 <= budget;
        }
    }
    account(now_ns() - began_ns);
}

void ll_merging_forget(void) {
    found_count = 0;
}
