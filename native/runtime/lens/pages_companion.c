// What the companion does: scan, adapt, take more pages out, sleep. It sleeps by the
// wall clock but counts the program's processor time, so that nothing ages while the
// program does nothing.
#include <time.h>

#include "base/options.h"
#include "format/records.h"
#include "lens/pages.h"
#include "lens/pages_clocks.h"
#include "lens/pages_merge.h"
#include "lens/pages_pace.h"
#include "lens/pages_singled.h"
#include "lens/pages_state.h"
#include "lens/pages_touches.h"
#include "os/companion.h"
#include "os/syscall.h"
#include "os/world.h"

enum {
    NS_PER_MS = 1000000,
    SLEEP_LEAST_MS = 5,
    SLEEP_MOST_MS = 200,
    // Scans are to take no more than such a share of the program's time.
    SCAN_SHARE = 200,
};

static uint64_t clock_ns(long clock) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// The kernel's number for the processor clock of another process.
static long process_clock(int pid) {
    enum { CLOCK_SCHED = 2 };
    return (long)((~(unsigned)pid << 3) | CLOCK_SCHED) | ~0x7fffffffL;
}

uint64_t ll_pages_cpu_ns(void) {
    return clock_ns(process_clock(ll_companion_owner()));
}

// A large heap comes to be watched by and by, at the same rate in each interval.
// Returns what that took.
static uint64_t extend(struct ll_watch* watch, uint64_t elapsed_ns) {
    uint64_t watched = watch->watched_pages;
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ll_watch_extend(watch, ll_pace_allowance(watch, elapsed_ns), ll_pages_cpu_ns);
    uint64_t spent_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    ll_pace_note_taken(watch, watch->watched_pages - watched, spent_ns);
    return spent_ns;
}

// Returns how much of its time went into taking pages out.
static uint64_t scan_once(const struct ll_presence* presence, uint64_t cpu_ns) {
    struct ll_watch* watch = &ll_pages.watch;
    uint64_t touches = watch->touches;
    if (!ll_pages_scan(presence, ll_pages_cpu_ns)) {
        return 0;
    }
    ll_pace_adapt(watch, watch->touches - touches, cpu_ns - watch->last_cpu_ns);
    uint64_t extend_ns = extend(watch, cpu_ns - watch->last_cpu_ns);
    watch->last_cpu_ns = cpu_ns;
    ll_page_clocks_read(ll_pages_cpu_ns() / NS_PER_MS);
    if (ll_merging_is_worth_it(cpu_ns / NS_PER_MS, cpu_ns) &&
        !ll_world_ask(ll_companion_owner(), LL_PAGES_MERGE_REQUEST)) {
        ll_merging_forget();
    }
    return extend_ns;
}

// Whoever holds the lock may wait for a page that only the assistant could bring, or
// for what was mapped anew to be singled out.
static void take_lock(struct ll_presence* presence) {
    while (!ll_lock_try(&ll_pages.lock)) {
        ll_singled_update_and_sleep(presence, 1);
    }
}

// Milliseconds of processor time from one scan to the next: more for a large heap.
static uint64_t interval_ms(uint64_t last_scan_ns) {
    uint64_t needed = last_scan_ns * SCAN_SHARE / NS_PER_MS;
    return needed > ll_options.scan_ms ? needed : ll_options.scan_ms;
}

static uint64_t time_to_sleep(uint64_t interval, uint64_t elapsed_ns) {
    uint64_t elapsed = elapsed_ns / NS_PER_MS;
    uint64_t left = interval > elapsed ? interval - elapsed : 0;
    left = left > SLEEP_LEAST_MS ? left : SLEEP_LEAST_MS;
    return left < SLEEP_MOST_MS ? left : SLEEP_MOST_MS;
}

void ll_pages_keep_watch(void) {
    struct ll_presence presence;
    uint64_t interval = ll_options.scan_ms;
    if (!ll_presence_open(&presence)) {
        return;
    }
    ll_singled_begin();
    ll_page_touches_start(&presence);
    for (;;) {
        uint64_t cpu_ns = ll_pages_cpu_ns();
        uint64_t elapsed_ns = cpu_ns - ll_pages.watch.last_cpu_ns;
        if (elapsed_ns >= interval * NS_PER_MS) {
            uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            ll_singled_update(&presence);
            take_lock(&presence);
            uint64_t extend_ns = 0;
            if (ll_pages.state == LL_TRACKING_active) {
                extend_ns = scan_once(&presence, cpu_ns);
            }
            ll_lock_drop(&ll_pages.lock);
            uint64_t scan_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
            ll_pages.watch.scan_ns += scan_ns;
            interval = interval_ms(scan_ns - extend_ns);
            elapsed_ns = 0;
        }
        ll_singled_update_and_sleep(&presence, time_to_sleep(interval, elapsed_ns));
    }
}
