// The lists are only ever pushed to by compare-and-swap and taken as a whole by
// exchange, so no element can be mistaken for another that took its place. An owner may
// end, and its heap be taken by another thread, at any point here: whoever finds a
// pending span that is not its own passes it on.
#include "heap/remote.h"

static struct ll_heap* heap_of(const struct ll_span* span) {
    uintptr_t owner = __atomic_load_n(&span->owner, __ATOMIC_SEQ_CST);
    bool is_heap =
        owner != LL_OWNER_NONE && owner != LL_OWNER_ABANDONED && owner != LL_OWNER_AGED;
    return is_heap ? (struct ll_heap*)(owner & ~(uintptr_t)LL_OWNER_FULL) : NULL;
}

bool ll_remote_free(struct ll_span* span, uint32_t index) {
    if (index >= span->capacity || !ll_word_is_live(span, index)) {
        return false;
    }
    uint32_t first = __atomic_load_n(&span->remote, __ATOMIC_RELAXED);
    do {
        ll_word_set(span, index, first | LL_WORD_USED);
    } while (!__atomic_compare_exchange_n(&span->remote, &first, index + 1, true,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (first == 0) {
        ll_remote_notify(span);
    }
    return true;
}

static void push_pending(struct ll_heap* heap, struct ll_span* span) {
    struct ll_span* first = __atomic_load_n(&heap->pending_list, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&span->pending_next, first, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&heap->pending_list, &first, span, true,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

// An owner that ends first gives up its spans and then empties its list; we first push
// and then look at the owner again. So one of the two sees the other.
void ll_remote_notify(struct ll_span* span) {
    struct ll_heap* heap = heap_of(span);
    if (heap == NULL || __atomic_exchange_n(&span->queued, 1, __ATOMIC_SEQ_CST) != 0) {
        return;
    }
    push_pending(heap, span);
    if (heap_of(span) != heap) {
        ll_remote_forward_pending(heap);
    }
}

static struct ll_span* take_pending(struct ll_heap* heap) {
    return __atomic_exchange_n(&heap->pending_list, NULL, __ATOMIC_SEQ_CST);
}

// Takes a span off a list that was taken. From here on it may be pushed again.
static struct ll_span* next_pending(struct ll_span* span) {
    struct ll_span* next = __atomic_load_n(&span->pending_next, __ATOMIC_RELAXED);
    __atomic_exchange_n(&span->queued, 0, __ATOMIC_SEQ_CST);
    return next;
}

static void forward(struct ll_span* span) {
    if (__atomic_load_n(&span->remote, __ATOMIC_SEQ_CST) != 0) {
        ll_remote_notify(span);
    }
}

void ll_remote_forward_pending(struct ll_heap* heap) {
    struct ll_span* span = take_pending(heap);
    while (span != NULL) {
        struct ll_span* next = next_pending(span);
        forward(span);
        span = next;
    }
}

static void collect_own(struct ll_heap* heap, struct ll_span* span) {
    ll_remote_collect(span);
    if (ll_span_has_block(span) && span->list == LL_LIST_FULL) {
        ll_local_no_longer_full(heap, span);
    }
    if (ll_span_is_empty(span)) {
        ll_local_emptied(heap, span);
    }
}

void ll_remote_collect_pending(struct ll_heap* heap) {
    if (LL_LIKELY(__atomic_load_n(&heap->pending_list, __ATOMIC_RELAXED) == NULL)) {
        return;
    }
    struct ll_span* span = take_pending(heap);
    while (span != NULL) {
        struct ll_span* next = next_pending(span);
        if (heap_of(span) == heap) {
            collect_own(heap, span);
        } else {
            forward(span);
        }
        span = next;
    }
}

void ll_remote_collect(struct ll_span* span) {
    if (__atomic_load_n(&span->remote, __ATOMIC_RELAXED) == 0) {
        return;
    }
    uint32_t position = __atomic_exchange_n(&span->remote, 0, __ATOMIC_SEQ_CST);
    while (position != 0) {
        uint32_t index = position - 1;
        position = (uint32_t)ll_word_get(span, index);
        ll_span_put(span, index);
    }
}
