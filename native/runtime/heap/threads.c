// Which heap a thread works on, from its first allocation to its last.
#include "heap/threads.h"

#include "heap/aged.h"
#include "heap/headers.h"
#include "heap/large_cache.h"
#include "heap/remote.h"
#include "heap/units.h"
#include "os/memory.h"

enum thread_state { THREAD_NEW, THREAD_HAS_HEAP, THREAD_ENDED };

LL_THREAD_LOCAL struct ll_heap* ll_thread_heap;
static LL_THREAD_LOCAL enum thread_state thread_state;
static LL_THREAD_LOCAL struct ll_heap* own_heap; // also while at work on it
static LL_THREAD_LOCAL bool thread_ignores_new;

// Every heap there ever was; guarded by the lock of the units. Heaps whose thread has
// ended are taken again.
static struct ll_heap* all_heaps;

// Serves threads that have ended theirs and handlers that interrupted work on it.
static struct ll_heap shared_heap;
static struct ll_lock shared_lock;

static struct ll_lock start_lock;
static uint32_t is_started;

static void make_ready(struct ll_heap* heap) {
    for (unsigned class = 0; class <= LL_CLASS_VEILED; class++) {
        heap->current[class] = &ll_no_span;
    }
}

bool ll_heap_is_started(void) {
    return __atomic_load_n(&is_started, __ATOMIC_ACQUIRE) != 0;
}

bool ll_heap_start(void) {
    if (ll_heap_is_started()) {
        return true;
    }
    uint64_t mask = ll_lock_take_masked(&start_lock);
    if (is_started == 0) {
        ll_classes_start();
        make_ready(&shared_heap);
        bool ready = ll_headers_start() && ll_units_start();
        __atomic_store_n(&is_started, ready, __ATOMIC_RELEASE);
    }
    bool result = is_started != 0;
    ll_lock_drop_masked(&start_lock, mask);
    return result;
}

uint32_t ll_birth_now(void) {
    uint64_t ignored = thread_ignores_new ? LL_WORD_IGNORED : 0;
    uint64_t epoch = (uint64_t)ll_epoch_now() << LL_WORD_EPOCH_SHIFT;
    return (uint32_t)((LL_WORD_LIVE | ignored | epoch) >> LL_WORD_SIZE_SHIFT);
}

static struct ll_heap* find_idle_heap(void) {
    struct ll_heap* heap = all_heaps;
    while (heap != NULL && heap->is_taken) {
        heap = heap->next_heap;
    }
    return heap;
}

static struct ll_heap* make_heap(void) {
    struct ll_heap* heap = ll_memory_map(sizeof *heap);
    if (heap != NULL) {
        make_ready(heap);
        heap->next_heap = all_heaps;
        all_heaps = heap;
    }
    return heap;
}

static struct ll_heap* take_heap(void) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    struct ll_heap* heap = find_idle_heap();
    if (heap == NULL) {
        heap = make_heap();
    }
    if (heap != NULL) {
        heap->is_taken = true;
        heap->birth = ll_birth_now();
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    return heap;
}

static struct ll_turn begin_shared(void) {
    uint64_t mask = ll_lock_take_masked(&shared_lock);
    shared_heap.birth = ll_birth_now();
    return (struct ll_turn){&shared_heap, mask};
}

static struct ll_turn begin_first(void) {
    if (!ll_heap_start()) {
        return (struct ll_turn){NULL, 0};
    }
    // Set first: a handler that comes in now uses the shared heap.
    thread_state = THREAD_HAS_HEAP;
    ll_keep_order();
    struct ll_heap* heap = take_heap();
    if (heap == NULL) {
        thread_state = THREAD_NEW;
        return begin_shared();
    }
    own_heap = heap;
    return (struct ll_turn){heap, 0};
}

struct ll_turn ll_turn_begin(void) {
    struct ll_heap* heap = ll_thread_heap;
    if (heap != NULL) {
        ll_thread_heap = NULL;
        ll_keep_order();
        return (struct ll_turn){heap, 0};
    }
    return thread_state == THREAD_NEW ? begin_first() : begin_shared();
}

void ll_turn_end(struct ll_turn turn) {
    ll_keep_order();
    if (turn.heap == &shared_heap) {
        ll_lock_drop_masked(&shared_lock, turn.mask);
    } else if (turn.heap != NULL) {
        ll_thread_heap = turn.heap;
    }
}

void ll_heap_ignore_new(bool on) {
    thread_ignores_new = on;
    struct ll_heap* heap = ll_thread_heap;
    if (heap != NULL) {
        heap->birth = ll_birth_now();
    }
}

void ll_heap_thread_exit(void) {
    struct ll_heap* heap = ll_thread_heap;
    ll_thread_heap = NULL;
    thread_state = THREAD_ENDED;
    if (heap == NULL) {
        return;
    }
    own_heap = NULL;
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    ll_large_cache_flush(heap);
    ll_local_abandon_all(heap);
    ll_remote_forward_pending(heap);
    heap->is_taken = false;
    ll_lock_drop_masked(&ll_units_lock, mask);
}

void ll_threads_lock(void) {
    ll_lock_take(&shared_lock);
    ll_lock_take(&ll_aged_lock);
    ll_lock_take(&ll_units_lock);
}

void ll_threads_unlock(void) {
    ll_lock_drop(&ll_units_lock);
    ll_lock_drop(&ll_aged_lock);
    ll_lock_drop(&shared_lock);
}

void ll_threads_renew_locks(void) {
    ll_lock_renew(&ll_units_lock);
    ll_lock_renew(&ll_aged_lock);
    ll_lock_renew(&shared_lock);
    ll_lock_renew(&start_lock);
}

struct ll_heap* ll_threads_own_heap(void) {
    return own_heap;
}

bool ll_threads_have_heap(const struct ll_heap* heap) {
    return heap == own_heap || heap == &shared_heap;
}

static void forget(struct ll_heap* heap) {
    heap->is_taken = false;
    heap->full = NULL;
    heap->cached_count = 0;
    heap->cached_units = 0;
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        heap->partial[class] = NULL;
    }
    make_ready(heap);
}

bool ll_threads_are_others(void) {
    for (struct ll_heap* heap = all_heaps; heap != NULL; heap = heap->next_heap) {
        if (heap != own_heap && heap->is_taken) {
            return true;
        }
    }
    return false;
}

void ll_threads_forget_others(void) {
    shared_heap.pending_list = NULL;
    for (struct ll_heap* heap = all_heaps; heap != NULL; heap = heap->next_heap) {
        heap->pending_list = NULL;
        if (heap != own_heap) {
            forget(heap);
        }
    }
}
