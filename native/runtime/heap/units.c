// Taking and giving units, growth of the range, and the return of pages.
#include "heap/units.h"

#include "heap/arena.h"
#include "heap/headers.h"
#include "heap/page_states.h"
#include "heap/runs.h"
#include "heap/strips.h"
#include "heap/thrift.h"
#include "os/memory.h"

enum {
    FIRST_UNITS = 4,
    // A free end of the range that is shorter stays.
    TAIL_UNITS_KEPT = 1 << 10,
    // How far to skip when others have mapped something behind the range.
    SKIPPED_UNITS = 1 << 14,
    // A range that grows for a request up to this many units grows for small blocks,
    // which fill it; a large block may stay mostly untouched.
    DENSE_UNITS = 16,
    // From this size of the range on, its growth asks for huge pages.
    HUGE_FROM = 1 << 29,
};

static const size_t units_max = (size_t)1 << (LL_RANGE_SHIFT - LL_UNIT_SHIFT);

struct ll_lock ll_units_lock;
struct ll_range ll_range;

static struct ll_arena table;
static struct ll_runs dirty_runs;
static struct ll_runs zeroed_runs;
static size_t committed_units;
static size_t used_units;
static size_t peak_units;

static size_t unit_of(uintptr_t address) {
    return (address - ll_range.start) >> LL_UNIT_SHIFT;
}

static void set_span(size_t unit, struct ll_span* span) {
    __atomic_store_n(&ll_range.spans[unit], span, __ATOMIC_RELAXED);
}

static struct ll_runs* runs_of(const struct ll_span* run) {
    return run->zeroed ? &zeroed_runs : &dirty_runs;
}

static void take_out(struct ll_span* run) {
    ll_runs_remove(runs_of(run), run);
    set_span(unit_of(run->start), &ll_no_span);
    set_span(unit_of(run->start) + run->unit_count - 1, &ll_no_span);
    ll_header_give(run);
}

// The free run at a unit, if there is one of that kind.
static struct ll_span* mergeable(size_t unit, bool zeroed) {
    size_t unit_count = ll_range.used_bytes >> LL_UNIT_SHIFT;
    struct ll_span* run = unit < unit_count ? ll_range.spans[unit] : &ll_no_span;
    return run->kind == LL_SPAN_FREE && run->zeroed == zeroed ? run : NULL;
}

// Puts units into the pool, joined with their neighbours. Without memory for a header
// they stay out of use.
static void put_in(uintptr_t start, size_t count, bool zeroed) {
    struct ll_span* before = mergeable(unit_of(start) - 1, zeroed);
    if (before != NULL) {
        start = before->start;
        count += before->unit_count;
        take_out(before);
    }
    struct ll_span* after = mergeable(unit_of(start) + count, zeroed);
    if (after != NULL) {
        count += after->unit_count;
        take_out(after);
    }
    struct ll_span* run = ll_header_take_bare();
    if (run == NULL) {
        return;
    }
    run->kind = LL_SPAN_FREE;
    run->capacity = 0;
    run->reciprocal = 0;
    run->block_size = 0;
    run->start = start;
    run->unit_count = (uint32_t)count;
    run->zeroed = zeroed;
    set_span(unit_of(start), run);
    set_span(unit_of(start) + count - 1, run);
    ll_runs_add(runs_of(run), run);
}

// Adds units to the table and lets look-ups see them.
static bool publish(size_t count) {
    struct ll_span** spans = ll_arena_take(&table, count * sizeof *spans);
    size_t used_bytes = ll_range.used_bytes + (count << LL_UNIT_SHIFT);
    if (spans == NULL || !ll_page_states_extend(ll_range.start, used_bytes) ||
        !ll_strips_extend(used_bytes)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        spans[i] = &ll_no_span;
    }
    __atomic_store_n(&ll_range.used_bytes, used_bytes, __ATOMIC_RELEASE);
    return true;
}

// Commits units `skipped` units behind the range's end and joins them to it.
static bool extend(size_t skipped, size_t count) {
    uintptr_t start = ll_range.start + ll_range.used_bytes + (skipped << LL_UNIT_SHIFT);
    if (unit_of(start) + count > units_max ||
        !ll_memory_commit((void*)start, count << LL_UNIT_SHIFT)) {
        return false;
    }
    if (!publish(skipped + count)) {
        ll_memory_unmap((void*)start, count << LL_UNIT_SHIFT);
        return false;
    }
    committed_units += count;
    put_in(start, count, true);
    return true;
}

// Makes the range longer so that its last run has at least `count` units.
static bool grow(size_t count) {
    size_t last = (ll_range.used_bytes >> LL_UNIT_SHIFT) - 1;
    struct ll_span* tail = mergeable(last, true);
    size_t missing = tail == NULL ? count : count - tail->unit_count;
    size_t step = ll_arena_step(ll_range.used_bytes, missing << LL_UNIT_SHIFT);
    void* start = (void*)(ll_range.start + ll_range.used_bytes);
    if (extend(0, step >> LL_UNIT_SHIFT)) {
        if (ll_range.used_bytes >= HUGE_FROM && count <= DENSE_UNITS) {
            ll_memory_prefer_huge(start, step);
        }
        return true;
    }
    return extend(0, missing) || extend(SKIPPED_UNITS, count);
}

bool ll_units_start(void) {
    void* start = ll_memory_start_range(FIRST_UNITS << LL_UNIT_SHIFT);
    if (start == NULL || !ll_arena_start(&table, units_max * sizeof(struct ll_span*))) {
        return false;
    }
    ll_range.start = (uintptr_t)start;
    ll_range.spans = (struct ll_span**)table.start;
    if (!publish(FIRST_UNITS)) {
        return false;
    }
    committed_units = FIRST_UNITS;
    put_in(ll_range.start, FIRST_UNITS, true);
    return true;
}

static struct ll_span* find(size_t count, enum ll_pages wish) {
    const struct ll_runs* first = wish == LL_PAGES_ZEROED ? &zeroed_runs : &dirty_runs;
    const struct ll_runs* second = wish == LL_PAGES_ZEROED ? &dirty_runs : &zeroed_runs;
    struct ll_span* run = ll_runs_find(first, count);
    return run != NULL ? run : ll_runs_find(second, count);
}

// Cuts `count` units out of a free run from `start` on; the rest stays free.
static void cut(struct ll_span* run, uintptr_t start, size_t count) {
    uintptr_t run_start = run->start;
    uintptr_t run_end = run_start + ((uintptr_t)run->unit_count << LL_UNIT_SHIFT);
    uintptr_t end = start + (count << LL_UNIT_SHIFT);
    bool zeroed = run->zeroed;
    take_out(run);
    if (run_start < start) {
        put_in(run_start, (start - run_start) >> LL_UNIT_SHIFT, zeroed);
    }
    if (end < run_end) {
        put_in(end, (run_end - end) >> LL_UNIT_SHIFT, zeroed);
    }
    used_units += count;
    peak_units = used_units > peak_units ? used_units : peak_units;
}

bool ll_units_take(size_t count, size_t alignment, enum ll_pages wish,
                   struct ll_run* run) {
    size_t needed = count + alignment - 1;
    if (needed > units_max) {
        return false;
    }
    struct ll_span* found = find(needed, wish);
    if (found == NULL && grow(needed)) {
        found = find(needed, LL_PAGES_ZEROED);
    }
    if (found == NULL) {
        return false;
    }
    uintptr_t mask = ((uintptr_t)alignment << LL_UNIT_SHIFT) - 1;
    run->start = (found->start + mask) & ~mask;
    run->zeroed = found->zeroed;
    if (run->zeroed) {
        ll_thrift_note_taken(count);
    }
    cut(found, run->start, count);
    return true;
}

bool ll_units_has_dirty(size_t count) {
    return ll_runs_find(&dirty_runs, count) != NULL;
}

bool ll_units_take_following(uintptr_t end, size_t count) {
    bool at_end = end == ll_range.start + ll_range.used_bytes;
    struct ll_span* run = at_end ? NULL : ll_range.spans[unit_of(end)];
    if (at_end && extend(0, count)) {
        run = ll_range.spans[unit_of(end)];
    }
    if (run == NULL || run->kind != LL_SPAN_FREE || run->unit_count < count) {
        return false;
    }
    cut(run, end, count);
    return true;
}

// The longest runs first: most pages for one system call. Runs that the system does not
// take stay dirty, and then the others need not be tried.
static void purge_down_to(size_t kept_units) {
    bool was_taken = true;
    while (dirty_runs.unit_count > kept_units && was_taken) {
        struct ll_span* run = ll_runs_longest(&dirty_runs);
        uintptr_t start = run->start;
        size_t count = run->unit_count;
        take_out(run);
        was_taken = ll_memory_purge((void*)start, count << LL_UNIT_SHIFT);
        if (was_taken) {
            ll_page_states_cleared(start, count << LL_UNIT_SHIFT);
        }
        put_in(start, count, was_taken);
    }
}

// Gives up address space too when much of it is free at the end of the range, since a
// limit on it, or on memory promised to programs, may bear on the program.
static bool shrink(size_t kept_units) {
    size_t last = (ll_range.used_bytes >> LL_UNIT_SHIFT) - 1;
    struct ll_span* tail = mergeable(last, true);
    if (tail == NULL || tail->unit_count <= kept_units) {
        return false;
    }
    uintptr_t start = tail->start;
    size_t count = tail->unit_count;
    take_out(tail);
    __atomic_store_n(&ll_range.used_bytes, start - ll_range.start, __ATOMIC_RELEASE);
    table.used_bytes -= count * sizeof(struct ll_span*);
    committed_units -= count;
    ll_memory_unmap((void*)start, count << LL_UNIT_SHIFT);
    return true;
}

bool ll_units_give_up_space(void) {
    purge_down_to(0);
    return shrink(0);
}

bool ll_units_purge(void) {
    size_t before = dirty_runs.unit_count;
    ll_thrift_forget();
    purge_down_to(0);
    ll_headers_purge();
    shrink(TAIL_UNITS_KEPT);
    return dirty_runs.unit_count < before;
}

void ll_units_give(uintptr_t start, size_t count, enum ll_pages pages) {
    for (size_t i = 0; i < count; i++) {
        set_span(unit_of(start) + i, &ll_no_span);
    }
    used_units -= count;
    put_in(start, count, pages == LL_PAGES_ZEROED);
    size_t kept = ll_thrift_kept_units(used_units);
    if (dirty_runs.unit_count > kept) {
        ll_thrift_note_purged(dirty_runs.unit_count - kept / 2);
        purge_down_to(kept / 2);
        ll_headers_purge();
        shrink(TAIL_UNITS_KEPT);
    }
}

void ll_units_bind(struct ll_span* span) {
    size_t unit = unit_of(span->start);
    for (size_t i = 0; i < span->unit_count; i++) {
        __atomic_store_n(&ll_range.spans[unit + i], span, __ATOMIC_RELEASE);
    }
}

struct ll_units_totals ll_units_totals(void) {
    return (struct ll_units_totals){used_units, peak_units, committed_units};
}
