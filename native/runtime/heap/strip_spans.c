#include "heap/strip_spans.h"

#include "heap/small_spans.h"
#include "heap/strip_table.h"
#include "heap/units.h"
#include "os/shelves.h"

static struct ll_strip* free_strips[LL_CLASS_COUNT]; // used last comes first

// The lock of the units is held. In the header of a span with strips `head` counts
// those in use. (What concerns frees by other threads is not ours: a header may be in a
// list of theirs from its last use.)
static struct ll_span* take_span(unsigned class) {
    struct ll_span* span = ll_small_span_make(class);
    if (span != NULL) {
        span->used = span->capacity; // at most; strips have the counts
        span->head = 0;
        __atomic_store_n(&span->owner, LL_OWNER_AGED, __ATOMIC_SEQ_CST);
        ll_units_bind(span);
    }
    return span;
}

// The first strip of the span comes to be the first of the list.
static bool make_span(unsigned class) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    struct ll_span* span = take_span(class);
    ll_lock_drop_masked(&ll_units_lock, mask);
    if (span == NULL) {
        return false;
    }
    for (uintptr_t end = ll_span_end(span); end > span->start;) {
        end -= ll_strip_bytes(span);
        ll_strip_link(&free_strips[class], ll_strip_at(span, end));
    }
    return true;
}

static void dissolve(struct ll_span* span) {
    uintptr_t end = ll_span_end(span);
    for (uintptr_t at = span->start; at < end; at += ll_strip_bytes(span)) {
        ll_strip_unlink(&free_strips[span->class], ll_strip_at(span, at));
    }
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    ll_small_span_dissolve(span);
    ll_lock_drop_masked(&ll_units_lock, mask);
}

struct ll_strip* ll_strip_lend(unsigned class) {
    if (free_strips[class] == NULL && !make_span(class)) {
        return NULL;
    }
    struct ll_strip* strip = free_strips[class];
    ll_strip_unlink(&free_strips[class], strip);
    ll_strip_span(strip)->head++;
    return strip;
}

static bool leaves_its_shelf(const struct ll_strip* strip, const struct ll_span* span) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    bool result = ll_shelves_part(ll_strip_start(strip), ll_strip_bytes(span));
    ll_lock_drop_masked(&ll_units_lock, mask);
    return result;
}

// A page that cannot leave its shelf would be lent to others with it, so then the empty
// strip stays as it is, for good.
void ll_strip_give_back(struct ll_strip* strip, struct ll_span* span) {
    if (ll_shelves_totals().merged_pages > 0 && !leaves_its_shelf(strip, span)) {
        return;
    }
    ll_strip_rest(strip)->cursor = NULL;
    ll_strip_set_state(strip, LL_STRIP_FREE);
    ll_strip_link(&free_strips[span->class], strip);
    if (--span->head == 0) {
        dissolve(span);
    }
}

bool ll_strips_would_grow(unsigned class) {
    if (free_strips[class] != NULL) {
        return false;
    }
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    bool result = !ll_units_has_dirty(ll_classes[class].unit_count);
    ll_lock_drop_masked(&ll_units_lock, mask);
    return result;
}
