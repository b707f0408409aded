// The slow side of a thread's heap: which span to allocate from next, and what becomes
// of spans that fill up, empty or lose their thread.
#include "heap/local.h"

#include "heap/remote.h"
#include "heap/small_spans.h"
#include "heap/units.h"

// Spans whose thread has ended, by class, and how many. They are looked through for
// empty ones when as many spans were made since the last time.
static struct ll_span* abandoned[LL_CLASS_COUNT];
static size_t abandoned_count;
static size_t made_since_sweep;

static void set_owner(struct ll_span* span, uintptr_t owner) {
    __atomic_store_n(&span->owner, owner, __ATOMIC_SEQ_CST);
}

static void link_into(struct ll_span** list, struct ll_span* span, uint8_t list_name) {
    span->previous = NULL;
    span->next = *list;
    if (*list != NULL) {
        (*list)->previous = span;
    }
    *list = span;
    span->list = list_name;
}

static void unlink_from(struct ll_span** list, struct ll_span* span) {
    if (span->next != NULL) {
        span->next->previous = span->previous;
    }
    if (span->previous != NULL) {
        span->previous->next = span->next;
    } else {
        *list = span->next;
    }
    span->next = NULL;
    span->previous = NULL;
    span->list = LL_LIST_NONE;
}

static void give_up_if_empty(struct ll_heap* heap, unsigned class) {
    struct ll_span* span = heap->current[class];
    if (span != &ll_no_span && ll_span_is_empty(span)) {
        heap->current[class] = &ll_no_span;
        ll_small_span_dissolve(span);
    }
    span = heap->partial[class];
    if (span != NULL && ll_span_is_empty(span)) {
        unlink_from(&heap->partial[class], span);
        ll_small_span_dissolve(span);
    }
}

void ll_local_give_up_empty(struct ll_heap* heap) {
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        give_up_if_empty(heap, class);
    }
}

static struct ll_span* create(struct ll_heap* heap, unsigned class) {
    if (!ll_units_has_dirty(ll_classes[class].unit_count)) {
        ll_local_give_up_empty(heap);
    }
    if (made_since_sweep++ >= abandoned_count && abandoned_count > 0) {
        ll_abandoned_sweep();
    }
    struct ll_span* span = ll_small_span_make(class);
    if (span == NULL) {
        ll_abandoned_sweep();
        ll_units_give_up_space();
        span = ll_small_span_make(class);
    }
    return span;
}

static struct ll_span* take_abandoned(unsigned class) {
    struct ll_span* span = abandoned[class];
    if (span != NULL) {
        unlink_from(&abandoned[class], span);
        abandoned_count--;
    }
    return span;
}

// A span for the heap that nobody owned, or a new one. Its blocks that others have
// freed are collected after it is owned: a thread that saw it without an owner told
// nobody.
static struct ll_span* obtain(struct ll_heap* heap, unsigned class) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    struct ll_span* span = take_abandoned(class);
    bool is_new = span == NULL;
    if (is_new) {
        span = create(heap, class);
    }
    if (span != NULL) {
        set_owner(span, (uintptr_t)heap);
    }
    if (span != NULL && is_new) {
        ll_units_bind(span);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    return span;
}

static void set_aside_full(struct ll_heap* heap, struct ll_span* span) {
    link_into(&heap->full, span, LL_LIST_FULL);
    set_owner(span, (uintptr_t)heap | LL_OWNER_FULL);
}

static struct ll_span* next_span(struct ll_heap* heap, unsigned class) {
    struct ll_span* span = heap->partial[class];
    if (span != NULL) {
        unlink_from(&heap->partial[class], span);
        return span;
    }
    while ((span = obtain(heap, class)) != NULL) {
        ll_remote_collect(span);
        if (ll_span_has_block(span)) {
            return span;
        }
        set_aside_full(heap, span);
    }
    return NULL;
}

struct ll_span* ll_local_refill(struct ll_heap* heap, unsigned class) {
    struct ll_span* span = heap->current[class];
    ll_remote_collect(span);
    if (ll_span_has_block(span)) {
        return span;
    }
    heap->current[class] = &ll_no_span;
    if (span != &ll_no_span) {
        set_aside_full(heap, span);
    }
    ll_remote_collect_pending(heap);
    span = next_span(heap, class);
    if (span != NULL) {
        heap->current[class] = span;
    }
    return span;
}

void ll_local_no_longer_full(struct ll_heap* heap, struct ll_span* span) {
    unlink_from(&heap->full, span);
    link_into(&heap->partial[span->class], span, LL_LIST_PARTIAL);
    set_owner(span, (uintptr_t)heap);
}

// One empty span of each class stays with the heap, unless it is big.
static bool is_worth_keeping(const struct ll_heap* heap, const struct ll_span* span) {
    bool is_only_one = heap->partial[span->class] == span && span->next == NULL;
    return span == heap->current[span->class] || (is_only_one && span->unit_count == 1);
}

void ll_local_emptied(struct ll_heap* heap, struct ll_span* span) {
    if (is_worth_keeping(heap, span)) {
        return;
    }
    unlink_from(&heap->partial[span->class], span);
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    ll_small_span_dissolve(span);
    ll_lock_drop_masked(&ll_units_lock, mask);
}

void ll_span_abandon(struct ll_span* span) {
    set_owner(span, LL_OWNER_ABANDONED);
    ll_remote_collect(span);
    if (ll_span_is_empty(span)) {
        ll_small_span_dissolve(span);
    } else {
        link_into(&abandoned[span->class], span, LL_LIST_NONE);
        abandoned_count++;
    }
}

static void abandon_list(struct ll_span** list) {
    while (*list != NULL) {
        struct ll_span* span = *list;
        unlink_from(list, span);
        ll_span_abandon(span);
    }
}

void ll_local_abandon_all(struct ll_heap* heap) {
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        struct ll_span* span = heap->current[class];
        heap->current[class] = &ll_no_span;
        if (span != &ll_no_span) {
            ll_span_abandon(span);
        }
        abandon_list(&heap->partial[class]);
    }
    abandon_list(&heap->full);
}

static void sweep_class(unsigned class) {
    struct ll_span* next;
    for (struct ll_span* span = abandoned[class]; span != NULL; span = next) {
        next = span->next;
        ll_remote_collect(span);
        if (ll_span_is_empty(span)) {
            unlink_from(&abandoned[class], span);
            abandoned_count--;
            ll_small_span_dissolve(span);
        }
    }
}

void ll_abandoned_sweep(void) {
    made_since_sweep = 0;
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        sweep_class(class);
    }
}

void ll_local_set_aside_current(struct ll_heap* heap) {
    for (unsigned class = 0; class < LL_CLASS_COUNT; class++) {
        struct ll_span* span = heap->current[class];
        heap->current[class] = &ll_no_span;
        if (span == &ll_no_span) {
            continue;
        }
        if (ll_span_has_block(span)) {
            link_into(&heap->partial[class], span, LL_LIST_PARTIAL);
        } else {
            set_aside_full(heap, span);
        }
    }
}
