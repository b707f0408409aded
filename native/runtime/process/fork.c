// Fork: no look and no allocation is under way while the process is copied, and the
// child becomes a process of its own. What it writes first waits until it has more to
// say, so that a fork followed by exec stays cheap.
#include "arm/schedule.h"
#include "base/attributes.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/pages.h"
#include "lens/touches.h"
#include "os/syscall.h"
#include "process/copy.h"
#include "process/life.h"
#include "process/process.h"
#include "process/refine.h"
#include "process/vfork.h"
#include "record/recording.h"
#include "stack/stack.h"

static LL_THREAD_LOCAL uint64_t mask_before_fork;

void ll_process_fork_prepare(void) {
    mask_before_fork = ll_look_lock();
    ll_pages_fork_prepare();
    ll_heap_fork_prepare();
    if (ll_touches_on) {
        ll_schedule_fork_prepare();
    }
}

void ll_process_fork_parent(void) {
    if (ll_touches_on) {
        ll_schedule_fork_parent();
    }
    ll_heap_fork_parent();
    ll_pages_fork_parent();
    ll_look_unlock(mask_before_fork);
}

void ll_process_fork_child(void) {
    ll_pages_fork_child();
    if (ll_touches_on) {
        ll_schedule_fork_child();
    }
    ll_heap_fork_child();
    ll_stack_fork_child();
    ll_refine_fork_child();
    ll_copy_forget();
    ll_vfork_forget();
    ll_life.pid = (int)ll_syscall(SYS_getpid);
    ll_life.origin = LL_ORIGIN_fork;
    ll_life.looks = 0;
    ll_life.start_recorded = false;
    ll_life.ended = false;
    if (ll_life.watched) {
        ll_recording_fork_child();
    }
    ll_look_unlock(mask_before_fork);
}
