#include "lens/pages_pace.h"

#include "heap/page_states.h"

enum {
    STEP_LEAST = 64,
    SHARE = 100,    // of the program's time: one per cent
    OWN_SHARE = 50, // of it, at most, for taking pages out while there are many
};

static uint64_t page_count(void) {
    return __atomic_load_n(&ll_page_states.count, __ATOMIC_ACQUIRE);
}

// So many could all be touched within one per cent of the time.
static uint64_t bearable(const struct ll_watch* watch, uint64_t elapsed_ns) {
    return elapsed_ns / SHARE / (watch->touch_ns + 1);
}

static uint64_t larger(uint64_t one, uint64_t other) {
    return one > other ? one : other;
}

static uint64_t smaller(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

// How many pages can be taken out so that their touches take that time, going by how
// many were touched of those taken out of late.
static uint64_t likely_pages(const struct ll_watch* watch, uint64_t touches_ns) {
    uint64_t taken = larger(watch->taken_of_late, watch->touched_of_late);
    return touches_ns / (watch->touch_ns + 1) * (taken + 1) /
           (watch->touched_of_late + 1);
}

static uint64_t step_up(const struct ll_watch* watch, uint64_t cost_ns,
                        uint64_t elapsed_ns) {
    if (cost_ns < elapsed_ns / 200) {
        uint64_t pages = page_count();
        uint64_t side = smaller(pages - watch->watched_pages, watch->watched_pages);
        return larger(larger(bearable(watch, elapsed_ns), side), STEP_LEAST);
    }
    // A heap that grows needs more pages watched in the middle of the budget, too.
    uint64_t goal_ns = elapsed_ns / SHARE;
    return cost_ns < goal_ns ? likely_pages(watch, goal_ns - cost_ns) : 0;
}

void ll_pace_adapt(struct ll_watch* watch, uint64_t touches, uint64_t elapsed_ns) {
    uint64_t pages = page_count();
    uint64_t cost_ns = touches * watch->touch_ns;
    watch->target_pages += step_up(watch, cost_ns, elapsed_ns);
    if (cost_ns > elapsed_ns / 200 * 3) {
        uint64_t side = smaller(pages - watch->watched_pages, watch->watched_pages);
        uint64_t step = larger(side / 8, STEP_LEAST);
        watch->target_pages -= smaller(step, watch->target_pages);
    }
    watch->target_pages = smaller(watch->target_pages, pages);
    watch->touched_of_late = watch->touched_of_late / 2 + touches;
}

// As many as if all were touched, and more where few were of late.
uint64_t ll_pace_allowance(const struct ll_watch* watch, uint64_t elapsed_ns) {
    uint64_t likely = likely_pages(watch, elapsed_ns / SHARE);
    uint64_t ours = elapsed_ns / OWN_SHARE / watch->drop_ns;
    return larger(smaller(likely, ours), STEP_LEAST);
}

void ll_pace_note_taken(struct ll_watch* watch, uint64_t pages, uint64_t spent_ns) {
    enum { WEIGHT = 8 };
    watch->taken_of_late = watch->taken_of_late / 2 + pages;
    if (pages > 0) {
        watch->drop_ns =
            (watch->drop_ns * (WEIGHT - 1) + spent_ns / pages) / WEIGHT + 1;
    }
}
