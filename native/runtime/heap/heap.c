// The heap's interface: which way each request takes. The first lines of
// ll_heap_allocate and ll_heap_release run inside nearly every malloc and free.
#include "heap/heap.h"

#include <string.h>

#include "heap/large.h"
#include "heap/local.h"
#include "heap/remote.h"
#include "heap/threads.h"

static LL_NOINLINE void* allocate_in_class(unsigned class, size_t size_bytes,
                                           ll_site site, enum ll_pages wish) {
    struct ll_turn turn = ll_turn_begin();
    if (turn.heap == NULL) {
        return NULL;
    }
    ll_fork_note_allocation();
    void* block = NULL;
    bool is_fresh = false;
    struct ll_span* span = ll_local_refill(turn.heap, class);
    if (span != NULL) {
        uint64_t previous_word;
        block = ll_span_take(span, size_bytes, site, turn.heap->birth, &previous_word);
        is_fresh = previous_word == 0 && span->zeroed;
    }
    ll_turn_end(turn);
    if (wish == LL_PAGES_ZEROED && block != NULL && !is_fresh) {
        memset(block, 0, size_bytes);
    }
    return block;
}

static LL_NOINLINE void* allocate_slowly(size_t size_bytes, ll_site site,
                                         enum ll_pages wish) {
    if (!ll_heap_start()) {
        return NULL;
    }
    if (size_bytes <= LL_SMALL_MAX) {
        return allocate_in_class(ll_class_for(size_bytes), size_bytes, site, wish);
    }
    ll_fork_note_allocation();
    return ll_large_allocate(size_bytes, 1, wish, ll_birth_now(), site);
}

// A block from the thread's current span of the class; NULL when it has none.
LL_INLINE void* take_quickly(size_t size_bytes, ll_site site, bool* is_fresh) {
    struct ll_heap* heap = ll_thread_heap;
    if (LL_UNLIKELY(heap == NULL || size_bytes > LL_SMALL_MAX)) {
        return NULL;
    }
    ll_thread_heap = NULL;
    ll_keep_order();
    void* block = NULL;
    struct ll_span* span = heap->current[ll_class_for(size_bytes)];
    if (LL_LIKELY(ll_span_has_block(span))) {
        uint64_t previous_word;
        block = ll_span_take(span, size_bytes, site, heap->birth, &previous_word);
        *is_fresh = previous_word == 0 && span->zeroed;
    }
    ll_keep_order();
    ll_thread_heap = heap;
    return block;
}

void* ll_heap_allocate(size_t size_bytes, ll_site site) {
    bool is_fresh;
    void* block = take_quickly(size_bytes, site, &is_fresh);
    return LL_LIKELY(block != NULL) ? block
                                    : allocate_slowly(size_bytes, site, LL_PAGES_ANY);
}

void* ll_heap_allocate_zeroed(size_t size_bytes, ll_site site) {
    bool is_fresh;
    void* block = take_quickly(size_bytes, site, &is_fresh);
    if (LL_UNLIKELY(block == NULL)) {
        return allocate_slowly(size_bytes, site, LL_PAGES_ZEROED);
    }
    return is_fresh ? block : memset(block, 0, size_bytes);
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
        return allocate_in_class(class, size_bytes, site, LL_PAGES_ANY);
    }
    ll_fork_note_allocation();
    return ll_large_allocate(size_bytes, alignment, LL_PAGES_ANY, ll_birth_now(), site);
}

// The span of the block at that address; one without blocks when there is none.
LL_INLINE struct ll_span* span_of(const void* block) {
    uintptr_t offset = (uintptr_t)block - ll_range.start;
    return LL_LIKELY(offset < __atomic_load_n(&ll_range.used_bytes, __ATOMIC_RELAXED))
               ? ll_span_at(offset)
               : &ll_no_span;
}

// The thread's own full span has room again.
static bool release_in_full(struct ll_heap* heap, struct ll_span* span,
                            uint32_t index) {
    if ((ll_word_get(span, index) & LL_WORD_LIVE) == 0) {
        return false;
    }
    ll_span_put(span, index);
    ll_local_no_longer_full(heap, span);
    if (ll_span_is_empty(span)) {
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
        result = ll_large_release(span, block);
    }
    ll_keep_order();
    ll_thread_heap = heap;
    return result;
}

static LL_NOINLINE bool release_last(struct ll_heap* heap, struct ll_span* span) {
    ll_local_emptied(heap, span);
    ll_keep_order();
    ll_thread_heap = heap;
    return true;
}

bool ll_heap_release(void* block) {
    struct ll_span* span = span_of(block);
    struct ll_heap* heap = ll_thread_heap;
    ll_thread_heap = NULL;
    ll_keep_order();
    uintptr_t owner = __atomic_load_n(&span->owner, __ATOMIC_RELAXED);
    if (LL_UNLIKELY(owner != (uintptr_t)heap)) {
        return release_slowly(heap, span, block);
    }
    uint32_t index = ll_span_index_of_start(span, (uintptr_t)block);
    bool is_live = (ll_word_get(span, index) & LL_WORD_LIVE) != 0;
    if (LL_LIKELY(is_live)) {
        ll_span_put(span, index);
        if (LL_UNLIKELY(ll_span_is_empty(span))) {
            return release_last(heap, span);
        }
    }
    ll_keep_order();
    ll_thread_heap = heap;
    return is_live;
}

// The block that starts at an address; false when none does.
static bool find_block(const void* start, struct ll_span** span, uint32_t* index) {
    *span = span_of(start);
    bool is_large =
        (*span)->kind == LL_SPAN_LARGE && (*span)->start == (uintptr_t)start;
    *index = is_large ? 0 : ll_span_index_of_start(*span, (uintptr_t)start);
    return *index < (*span)->capacity &&
           (ll_word_get(*span, *index) & LL_WORD_LIVE) != 0;
}

static size_t requested_size(const struct ll_span* span, uint32_t index) {
    return span->kind == LL_SPAN_LARGE
               ? span->large_size
               : (uint16_t)(ll_word_get(span, index) >> LL_WORD_SIZE_SHIFT);
}

static void set_size_and_site(struct ll_span* span, uint32_t index, size_t size_bytes,
                              ll_site site) {
    uint64_t flags = ll_word_get(span, index) & ~((LL_WORD_LIVE)-1);
    ll_word_set(span, index, flags | (uint64_t)size_bytes << LL_WORD_SIZE_SHIFT | site);
}

bool ll_heap_resize(void* block, size_t size_bytes, ll_site site) {
    struct ll_span* span;
    uint32_t index;
    if (!find_block(block, &span, &index)) {
        return false;
    }
    if (span->kind == LL_SPAN_LARGE) {
        return size_bytes > LL_SMALL_MAX && ll_large_resize(span, size_bytes, site);
    }
    if (size_bytes >= span->block_size || size_bytes < span->block_size / 2 - 8) {
        return false;
    }
    set_size_and_site(span, index, size_bytes, site);
    return true;
}

static void move_contents(void* from, void* to, size_t to_size) {
    struct ll_span* from_span = span_of(from);
    struct ll_span* to_span = span_of(to);
    if (from_span->kind == LL_SPAN_LARGE && to_span->kind == LL_SPAN_LARGE) {
        ll_large_move_contents(from_span, to_span);
        return;
    }
    size_t size = ll_heap_requested_size(from);
    memcpy(to, from, size < to_size ? size : to_size);
}

void* ll_heap_move(void* block, size_t size_bytes, ll_site site) {
    void* moved = ll_heap_allocate(size_bytes, site);
    if (moved != NULL) {
        move_contents(block, moved, size_bytes);
        ll_heap_release(block);
    }
    return moved;
}

size_t ll_heap_usable_size(void* block) {
    struct ll_span* span;
    uint32_t index;
    if (!find_block(block, &span, &index)) {
        return 0;
    }
    size_t requested = requested_size(span, index);
    bool is_large = span->kind == LL_SPAN_LARGE;
    size_t room = is_large ? ll_large_room(span) : span->block_size - 1u;
    size_t usable = (room & ~(size_t)7) > requested ? room & ~(size_t)7 : requested;
    if (is_large) {
        span->large_size = usable;
    } else {
        set_size_and_site(span, index, usable, (ll_site)ll_word_get(span, index));
    }
    return usable;
}

bool ll_heap_is_block(const void* block) {
    struct ll_span* span;
    uint32_t index;
    return find_block(block, &span, &index);
}

size_t ll_heap_requested_size(const void* block) {
    struct ll_span* span;
    uint32_t index;
    return find_block(block, &span, &index) ? requested_size(span, index) : 0;
}

bool ll_heap_ignore(const void* block) {
    struct ll_span* span;
    uint32_t index;
    if (!find_block(block, &span, &index)) {
        return false;
    }
    ll_word_set(span, index, ll_word_get(span, index) | LL_WORD_IGNORED);
    return true;
}

bool ll_heap_trim(void) {
    if (!ll_heap_start()) {
        return false;
    }
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    ll_abandoned_sweep();
    bool any = ll_units_purge();
    ll_lock_drop_masked(&ll_units_lock, mask);
    return any;
}
