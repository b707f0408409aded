// The heap across fork. The locks are held while the process is copied, so whatever
// they guard is whole in the child. Heaps of other threads may have been copied in the
// middle of a change: the child trusts none of their lists and finds their spans by the
// table.
#include "heap/aged.h"
#include "heap/inspect.h"
#include "heap/large.h"
#include "heap/large_cache.h"
#include "heap/remote.h"
#include "heap/threads.h"
#include "os/lock.h"

static uint32_t epoch;
static bool has_allocated;

uint32_t ll_epoch_now(void) {
    return epoch;
}

void ll_fork_note_allocation(void) {
    if (!__atomic_load_n(&has_allocated, __ATOMIC_RELAXED)) {
        __atomic_store_n(&has_allocated, true, __ATOMIC_RELAXED);
    }
}

bool ll_heap_allocated_since_fork(void) {
    return __atomic_load_n(&has_allocated, __ATOMIC_RELAXED);
}

static LL_THREAD_LOCAL uint64_t mask_before_fork;

void ll_heap_fork_prepare(void) {
    uint64_t mask = ll_signals_block();
    ll_threads_lock();
    mask_before_fork = mask;
}

void ll_heap_fork_parent(void) {
    ll_threads_unlock();
    ll_signals_restore(mask_before_fork);
}

static void inherit(struct ll_span* span) {
    uintptr_t owner = span->owner & ~(uintptr_t)LL_OWNER_FULL;
    if (owner == LL_OWNER_AGED) {
        return;
    }
    span->queued = 0;
    if (owner == LL_OWNER_ABANDONED) {
        return;
    }
    if (ll_threads_have_heap((struct ll_heap*)owner)) {
        if (span->remote != 0) {
            ll_remote_notify(span);
        }
        return;
    }
    span->next = NULL;
    span->previous = NULL;
    ll_span_abandon(span);
}

static void inherit_spans(void) {
    uintptr_t offset = 0;
    while (offset < ll_range.used_bytes) {
        struct ll_span* span = ll_span_at(offset);
        offset = ll_span_next_offset(span, offset);
        if (span->kind == LL_SPAN_SMALL) {
            inherit(span);
        } else if (span->kind == LL_SPAN_LARGE && !ll_word_is_live(span, 0)) {
            ll_large_dissolve(span);
        }
    }
}

void ll_heap_fork_child(void) {
    ll_threads_renew_locks();
    struct ll_heap* heap = ll_threads_own_heap();
    if (ll_threads_are_others()) {
        // What then has no live block any more was in the cache of another thread.
        if (heap != NULL) {
            ll_large_cache_flush(heap);
        }
        ll_threads_forget_others();
        inherit_spans();
    }
    // Beyond the largest number that a word can hold, blocks count as the child's own.
    epoch = epoch < LL_EPOCH_MAX ? epoch + 1 : epoch;
    has_allocated = false;
    ll_heap_inherit_allocations();
    ll_aged_fork_child();
    if (heap != NULL) {
        ll_local_set_aside_current(heap);
        heap->birth = ll_birth_now();
    }
    ll_signals_restore(mask_before_fork);
}
