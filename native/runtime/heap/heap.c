// The heap's interface: which way each request takes. The first lines of
// ll_heap_allocate and ll_heap_release run inside nearly every malloc and free.
#include "heap/heap.h"

#include <string.h>

#include "heap/aged.h"
#include "heap/large.h"
#include "heap/large_cache.h"
#include "heap/page_states.h"
#include "heap/quick.h"
#include "heap/remote.h"
#include "heap/threads.h"

static ll_class_allocator* class_allocator = ll_heap_allocate_in_common;

void ll_heap_segregate(ll_class_allocator* allocate) {
    ll_classes_veil();
    __atomic_store_n(&class_allocator, allocate, __ATOMIC_RELEASE);
}

struct ll_taken ll_heap_allocate_in_common(unsigned class, size_t size_bytes,
                                           ll_site site) {
    struct ll_taken taken = {0};
    struct ll_turn turn = ll_turn_begin();
    if (turn.heap == NULL) {
        return taken;
    }
    ll_fork_note_allocation();
    struct ll_span* span = turn.heap->current[class];
    if (!ll_span_has_block(span)) {
        span = ll_local_refill(turn.heap, class);
    }
    if (span != NULL) {
        uint64_t previous_word;
        taken.block =
            ll_span_take(span, size_bytes, site, turn.heap->birth, &previous_word);
        taken.is_fresh = previous_word == 0 && span->zeroed;
    }
    ll_turn_end(turn);
    return taken;
}

static LL_NOINLINE void* allocate_large(size_t size_bytes, size_t alignment,
                                        ll_site site, enum ll_pages wish) {
    struct ll_large_request request = {
        .size_bytes = size_bytes,
        .alignment = alignment,
        .wish = wish,
        .word = (uint64_t)ll_birth_now() << LL_WORD_SIZE_SHIFT | site,
    };
    ll_fork_note_allocation();
    struct ll_heap* heap = ll_thread_heap;
    ll_thread_heap = NULL;
    ll_keep_order();
    void* block = ll_large_allocate(heap, &request);
    ll_keep_order();
    ll_thread_heap = heap;
    if (block != NULL) {
        ll_page_states_born((uintptr_t)block, size_bytes);
    }
    return block;
}

static LL_COLD struct ll_taken start_and_allocate(size_t size_bytes, ll_site site) {
    return ll_heap_start() ? ll_heap_allocate_slowly(size_bytes, site)
                           : (struct ll_taken){0};
}

// Where blocks are kept apart, each of them comes this way.
LL_NOINLINE struct ll_taken ll_heap_allocate_slowly(size_t size_bytes, ll_site site) {
    if (LL_UNLIKELY(!ll_heap_is_started())) {
        return start_and_allocate(size_bytes, site);
    }
    if (LL_UNLIKELY(size_bytes > LL_SMALL_MAX)) {
        return (struct ll_taken){allocate_large(size_bytes, 1, site, LL_PAGES_ANY),
                                 false};
    }
    return class_allocator(ll_class_behind_veil(size_bytes), size_bytes, site);
}

void* ll_heap_allocate(size_t size_bytes, ll_site site) {
    struct ll_quick known;
    void* block = ll_quick_take(size_bytes, site, &known);
    return LL_LIKELY(block != NULL) ? block
                                    : ll_heap_allocate_slowly(size_bytes, site).block;
}

static LL_NOINLINE void* allocate_zeroed_slowly(size_t size_bytes, ll_site site) {
    if (size_bytes > LL_SMALL_MAX) {
        return ll_heap_start() ? allocate_large(size_bytes, 1, site, LL_PAGES_ZEROED)
                               : NULL;
    }
    struct ll_taken taken = ll_heap_allocate_slowly(size_bytes, site);
    if (taken.block != NULL && !taken.is_fresh) {
        memset(taken.block, 0, size_bytes);
    }
    return taken.block;
}

void* ll_heap_allocate_zeroed(size_t size_bytes, ll_site site) {
    struct ll_quick known;
    void* block = ll_quick_take(size_bytes, site, &known);
    if (LL_UNLIKELY(block == NULL)) {
        return allocate_zeroed_slowly(size_bytes, site);
    }
    return known.is_fresh ? block : memset(block, 0, size_bytes);
}

void* ll_heap_allocate_aligned(size_t size_bytes, size_t alignment, ll_site site) {
    if (alignment <= 16) {
        return ll_heap_allocate(size_bytes, site);
    }
    if (!ll_heap_start()) {
        return NULL;
    }
    unsigned class = ll_class_for_aligned(size_bytes, alignment);
    if (class < LL_CLASS_COUNT) {
        return class_allocator(class, size_bytes, site).block;
    }
    return allocate_large(size_bytes, alignment, site, LL_PAGES_ANY);
}

// The thread's own full span has room again.
static bool release_in_full(struct ll_heap* heap, struct ll_span* span,
                            uint32_t index) {
    if (!ll_word_is_live(span, index)) {
        return false;
    }
    bool is_empty = ll_span_put(span, index);
    ll_local_no_longer_full(heap, span);
    if (is_empty) {
        ll_local_emptied(heap, span);
    }
    return true;
}

// `heap` is the thread's, at work; NULL when it has none to work on.
static bool release_small(struct ll_heap* heap, struct ll_span* span, void* block) {
    uint32_t index = ll_span_index_of_start(span, (uintptr_t)block);
    uintptr_t owner = __atomic_load_n(&span->owner, __ATOMIC_RELAXED);
    return heap != NULL && owner == ((uintptr_t)heap | LL_OWNER_FULL)
               ? release_in_full(heap, span, index)
               : ll_remote_free(span, index);
}

// A block of the thread's own full span, of another's span, a large one, or none.
static LL_NOINLINE bool release_slowly(struct ll_heap* heap, struct ll_span* span,
                                       void* block) {
    bool result = false;
    if (span->kind == LL_SPAN_SMALL) {
        result = release_small(heap, span, block);
    } else if (span->kind == LL_SPAN_LARGE) {
        result = ll_large_release(heap, span, block);
    }
    ll_keep_order();
    ll_thread_heap = heap;
    return result;
}

// Strips have locks of their own, so the thread's heap is not held meanwhile.
static LL_NOINLINE bool release_aged(struct ll_heap* heap, struct ll_span* span,
                                     void* block) {
    ll_thread_heap = heap;
    return ll_aged_release(span, block);
}

LL_NOINLINE bool ll_heap_release_last(struct ll_heap* heap, struct ll_span* span) {
    ll_local_emptied(heap, span);
    ll_keep_order();
    ll_thread_heap = heap;
    return true;
}

bool ll_heap_release(void* block) {
    struct ll_span* span = ll_span_of(block);
    struct ll_heap* heap = ll_thread_heap;
    ll_thread_heap = NULL;
    ll_keep_order();
    uintptr_t owner = __atomic_load_n(&span->owner, __ATOMIC_RELAXED);
    if (LL_UNLIKELY(owner != (uintptr_t)heap)) {
        return owner == LL_OWNER_AGED ? release_aged(heap, span, block)
                                      : release_slowly(heap, span, block);
    }
    uint32_t index = ll_span_index_of_start(span, (uintptr_t)block);
    if (LL_UNLIKELY(!ll_word_is_live(span, index))) {
        ll_thread_heap = heap;
        return false;
    }
    if (LL_UNLIKELY(ll_span_put(span, index))) {
        return ll_heap_release_last(heap, span);
    }
    ll_keep_order();
    ll_thread_heap = heap;
    return true;
}

bool ll_heap_trim(void) {
    if (!ll_heap_start()) {
        return false;
    }
    struct ll_turn turn = ll_turn_begin();
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    ll_large_cache_flush(turn.heap);
    ll_abandoned_sweep();
    bool any = ll_units_purge();
    ll_lock_drop_masked(&ll_units_lock, mask);
    ll_turn_end(turn);
    return any;
}
