// Shared memory stays shared across fork, which the heap must not. So before a fork the
// heap becomes a private view of its file, which fork then copies as any memory. After
// it the child leaves it at that. The parent moves its heap into a file of its own and
// goes on being watched, unless that would take long.
#include "base/attributes.h"
#include "format/records.h"
#include "heap/page_states.h"
#include "heap/span.h"
#include "heap/units.h"
#include "lens/pages.h"
#include "lens/pages_singled.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/companion.h"
#include "os/world.h"

enum { COPIED_BYTES_MAX = 64 << 20 };

static bool was_shared; // set before the fork, for both sides

// Does something to the heap while no other thread runs. `action` is told whether that
// is certain.
static void do_alone(void (*action)(bool is_certain)) {
    struct ll_world world;
    bool is_stopped = ll_world_stop(&world);
    action(is_stopped && ll_world_is_still(&world));
    if (is_stopped) {
        ll_world_resume(&world);
    }
}

// Nobody may put merged pages back to their places meanwhile.
static void freeze_range(void) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    ll_backing_freeze(ll_range.start, ll_range.used_bytes);
    ll_lock_drop_masked(&ll_units_lock, mask);
}

// A private view begins with an empty page table, so what was touched before has to be
// known first.
static void freeze(bool is_certain) {
    if (!is_certain) {
        ll_watch_end(&ll_pages.watch);
    } else {
        ll_pages_scan_here();
    }
    freeze_range();
}

static void renew(bool is_certain) {
    if (!is_certain) {
        ll_pages_end("it forked while not all of its threads could be stopped; its "
                     "heap was not watched from then on");
    } else if (!ll_pages_scan_here() ||
               !ll_backing_renew(ll_range.start, ll_range.used_bytes)) {
        ll_pages_end("it forked, and its heap could not be watched from then on");
    } else {
        ll_singled_await();
    }
}

void ll_pages_fork_prepare(void) {
    was_shared = ll_backing_is_shared();
    if (was_shared) {
        ll_pages_lock();
        do_alone(freeze);
    }
}

void ll_pages_fork_parent(void) {
    if (!was_shared) {
        return;
    }
    if (ll_backing_bytes() > COPIED_BYTES_MAX) {
        ll_pages_end("it forked with a large heap, which was not watched from then on");
    } else if (ll_pages.state == LL_TRACKING_active) {
        do_alone(renew);
    }
    ll_pages_unlock();
    if (ll_pages.state != LL_TRACKING_active) {
        ll_companion_stop();
    }
}

void ll_pages_fork_child(void) {
    ll_companion_forget();
    if (was_shared) {
        ll_lock_renew(&ll_pages.lock);
        ll_pages_end("it is a forked child, whose heap is not watched");
    }
}

static void leave(const char* sentence) {
    if (ll_backing_is_shared()) {
        ll_pages_lock();
        freeze_range();
        ll_pages_end(sentence);
        ll_pages_unlock();
    }
}

void ll_pages_unknown_fork(void) {
    leave("it forked by a system call of its own, and its heap was not watched from "
          "then on");
}

void ll_pages_sandboxed(void) {
    leave("it limited its own system calls, and its heap was not watched from then on");
}
