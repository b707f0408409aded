#include "lens/pages.h"

#include <time.h>

#include "base/options.h"
#include "format/records.h"
#include "heap/page_states.h"
#include "lens/pages_contexts.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/companion.h"
#include "os/syscall.h"

struct ll_pages ll_pages;

bool ll_pages_prepare(void) {
    enum ll_presence_verdict verdict = ll_presence_try(&ll_pages.watch.touch_ns);
    ll_pages.state = LL_TRACKING_unavailable;
    if (verdict == LL_PRESENCE_NONE || !ll_page_states_start() || !ll_backing_start()) {
        ll_page_states.table = NULL;
        return false;
    }
    ll_pages.is_coarse = verdict == LL_PRESENCE_COARSE;
    if (!ll_contexts_start((unsigned)ll_options.context_depth,
                           (unsigned)ll_options.context_blocks)) {
        ll_pages.ended = "there was no memory to keep blocks apart";
    }
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

static uint64_t own_cpu_ms(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// A look of its own: the companion's descriptors are not ours.
static void scan_here(void) {
    struct ll_presence presence;
    if (!ll_presence_open(&presence)) {
        ll_pages_end("the kernel no longer tells which pages are in use");
        return;
    }
    ll_watch_scan(&ll_pages.watch, &presence);
    ll_presence_close(&presence);
}

void ll_pages_settle(void) {
    if (ll_pages.state == LL_TRACKING_active) {
        ll_pages_lock();
        // Taken before the scan: what it finds untouched was so at that time.
        ll_pages.now_ms = own_cpu_ms();
        scan_here();
    }
}

void ll_pages_resume(void) {
    if (ll_pages.state == LL_TRACKING_active) {
        ll_watch_drop_again();
        ll_pages_unlock();
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
