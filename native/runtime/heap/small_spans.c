#include "heap/small_spans.h"

#include "heap/headers.h"
#include "heap/units.h"

struct ll_span* ll_small_span_make(unsigned class) {
    size_t unit_count = ll_classes[class].unit_count;
    struct ll_run run;
    if (!ll_units_take(unit_count, 1, LL_PAGES_ANY, &run)) {
        return NULL;
    }
    struct ll_span* span = ll_header_take_small(class);
    if (span == NULL) {
        ll_units_give(run.start, unit_count, LL_PAGES_ANY);
        return NULL;
    }
    span->start = run.start;
    span->zeroed = run.zeroed;
    return span;
}

void ll_small_span_dissolve(struct ll_span* span) {
    uintptr_t start = span->start;
    uint32_t unit_count = span->unit_count;
    __atomic_store_n(&span->owner, LL_OWNER_NONE, __ATOMIC_SEQ_CST);
    ll_header_give(span);
    ll_units_give(start, unit_count, LL_PAGES_ANY);
}
