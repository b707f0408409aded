// Shared memory stays shared across fork, which the heap must not. Up to a limit the
// parent moves to a copy and goes on being watched; beyond it both sides get private
// views of the same file and the watch ends.
#include "base/attributes.h"
#include "format/records.h"
#include "heap/page_states.h"
#include "heap/span.h"
#include "lens/pages.h"
#include "lens/pages_state.h"
#include "os/backing.h"
#include "os/companion.h"
#include "os/tasks.h"

enum { COPIED_BYTES_MAX = 64 << 20 };

// Set before the fork, for both sides.
static bool is_shared;
static bool is_to_be_copied;

static bool count_task(int tid, void* count) {
    (void)tid;
    return ++*(unsigned*)count < 2;
}

// Other threads would write while the heap is copied.
static bool has_other_threads(void) {
    unsigned count = 0;
    return !ll_tasks_visit(count_task, &count) || count > 1;
}

static bool freeze(void) {
    return ll_backing_freeze(ll_range.start, ll_range.used_bytes);
}

void ll_pages_fork_prepare(void) {
    is_shared = ll_backing_is_shared();
    if (!is_shared) {
        return;
    }
    is_to_be_copied = ll_pages.state == LL_TRACKING_active && !has_other_threads() &&
                      ll_backing_bytes() <= COPIED_BYTES_MAX;
    if (is_to_be_copied) {
        ll_pages_settle();
    } else {
        ll_pages_lock();
        freeze();
        ll_pages_end("it forked, and from then on its heap was not watched");
    }
}

void ll_pages_fork_parent(void) {
    if (!is_shared) {
        return;
    }
    if (is_to_be_copied && ll_backing_renew(ll_range.start, ll_range.used_bytes)) {
        ll_pages.mappings++;
    } else if (is_to_be_copied) {
        freeze();
        ll_pages_end("it forked, and there was no memory to copy its heap");
    }
    ll_pages_unlock();
    if (!ll_backing_is_shared()) {
        ll_companion_stop();
    }
}

void ll_pages_fork_child(void) {
    if (!is_shared) {
        return;
    }
    freeze();
    ll_companion_forget();
    ll_lock_renew(&ll_pages.lock);
    ll_pages_end("it is a forked child, whose heap is not watched");
}
