#include "lens/pages.h"

#include <time.h>

#include "base/options.h"
#include "format/records.h"
#include "heap/page_states.h"
#include "lens/pages_contexts.h"
#include "lens/pages_merge.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/companion.h"
#include "os/pinned.h"
#include "os/reclaim.h"
#include "os/syscall.h"

struct ll_pages_lens ll_pages;

enum {
    DROP_NS_AT_FIRST = 500,
    FAULT_AROUND_PAGES = 16, // that a touch brings back where the watch is coarse
};

static bool is_settled; // between ll_pages_settle and ll_pages_resume

bool ll_pages_prepare(void) {
    enum ll_presence_verdict verdict = ll_presence_try(&ll_pages.watch.touch_ns);
    ll_pages.state = LL_TRACKING_unavailable;
    ll_pages.ended = "the system gives no shared memory for the heap, or does not tell "
                     "which pages are touched, so the use of memory is not known";
    if (verdict == LL_PRESENCE_NONE || !ll_page_states_start() || !ll_backing_start()) {
        ll_page_states.table = NULL;
        return false;
    }
    ll_pages.ended = NULL;
    ll_pages.is_coarse = verdict == LL_PRESENCE_COARSE;
    if (!ll_page_contexts_start((unsigned)ll_options.context_depth,
                                (unsigned)ll_options.context_blocks,
                                ll_pages.is_coarse ? FAULT_AROUND_PAGES : 1)) {
        ll_pages.ended = "there was no memory to keep blocks apart";
    }
    if (ll_options.compact) {
        ll_merging_start();
    }
    ll_pages.watch.drop_ns = DROP_NS_AT_FIRST;
    ll_pages.watch.reclaimed = ll_reclaim_count;
    ll_pages.state = LL_TRACKING_active;
    return true;
}

void ll_pages_start(void) {
    if (ll_pages.state == LL_TRACKING_active &&
        !ll_companion_start(ll_pages_keep_watch)) {
        ll_pages_end("no process could be started that watches the heap");
    }
}

void ll_pages_lock(void) {
    enum { PATIENCE = 1000, STEP_NS = 100000 };
    struct timespec step = {.tv_nsec = STEP_NS};
    for (int i = 0; !ll_lock_try(&ll_pages.lock); i++) {
        (void)ll_syscall(SYS_nanosleep, &step, NULL);
        if (i % PATIENCE == PATIENCE - 1 && !ll_companion_is_alive()) {
            ll_lock_renew(&ll_pages.lock);
        }
    }
}

void ll_pages_unlock(void) {
    ll_lock_drop(&ll_pages.lock);
}

void ll_pages_end(const char* sentence) {
    ll_watch_end(&ll_pages.watch);
    ll_pages.state = LL_TRACKING_ended;
    ll_pages.ended = sentence;
}

uint64_t ll_pages_own_cpu_ns(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

bool ll_pages_scan(const struct ll_presence* presence, ll_watch_clock* clock) {
    if (ll_pinned_io_may_be_set_up()) {
        ll_pages_end("it uses asynchronous I/O, which touches memory unseen (or its "
                     "mappings, which tell that, cannot be listed), so the use of its "
                     "heap is not known");
    } else if (!ll_watch_scan(&ll_pages.watch, presence, clock)) {
        ll_pages_end("the kernel no longer tells which pages are in use");
    }
    return ll_pages.state == LL_TRACKING_active;
}

bool ll_pages_scan_here(void) {
    struct ll_presence presence;
    (void)ll_presence_open(&presence);
    bool is_known = ll_pages_scan(&presence, ll_pages_own_cpu_ns);
    ll_presence_close(&presence);
    return is_known;
}

void ll_pages_merge(bool is_still) {
    struct ll_presence presence;
    if (ll_pages.state != LL_TRACKING_active || !ll_merging.is_on) {
        return;
    }
    ll_pages_lock();
    if (is_still && ll_backing_is_shared() && !ll_pinned_io_may_be_set_up() &&
        ll_presence_open(&presence)) {
        ll_merging_do(&presence);
        ll_presence_close(&presence);
    }
    ll_merging_forget();
    ll_pages_unlock();
}

void ll_pages_settle(void) {
    if (ll_pages.state == LL_TRACKING_active) {
        ll_pages_lock();
        is_settled = true;
        __atomic_store_n(&ll_pages.looker, (int)ll_syscall(SYS_gettid),
                         __ATOMIC_RELEASE);
        // Taken before the scan: what it finds untouched was so at that time.
        ll_pages.now_ms = ll_pages_own_cpu_ns() / 1000000;
        ll_pages_scan_here();
    }
}

void ll_pages_resume(void) {
    if (is_settled) {
        is_settled = false;
        ll_watch_drop_again();
        __atomic_store_n(&ll_pages.looker, 0, __ATOMIC_RELEASE);
        ll_pages_unlock();
    }
}

void ll_pages_waits_for_all(void) {
    if (ll_pages.state == LL_TRACKING_active) {
        ll_pages_lock();
        ll_pages_end("it waits for children of every kind, as debuggers do, and its "
                     "heap was not watched from then on");
        ll_pages_unlock();
        ll_companion_stop();
    }
}

void ll_pages_suspend(void) {
    if (ll_pages.state == LL_TRACKING_active) {
        ll_companion_stop();
    }
}

void ll_pages_go_on(void) {
    if (ll_pages.state == LL_TRACKING_active) {
        ll_lock_renew(&ll_pages.lock);
        ll_pages_start();
    }
}
