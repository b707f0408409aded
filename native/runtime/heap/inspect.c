// Walks over all blocks, for looks at a stopped world.
#include "heap/inspect.h"

#include "heap/aged.h"
#include "heap/headers.h"
#include "heap/threads.h"
#include "heap/units.h"

// Those of the parent, until it forked.
static uint64_t inherited_allocations;

bool ll_block_is_inherited(struct ll_block block) {
    uint64_t word = ll_word_get(block.span, block.index);
    return word >> LL_WORD_EPOCH_SHIFT != ll_epoch_now();
}

// The next span with blocks at or behind `offset`, which moves behind it; NULL at the
// end of the range.
static struct ll_span* next_span(uintptr_t* offset) {
    while (*offset < ll_range.used_bytes) {
        struct ll_span* span = ll_span_at(*offset);
        *offset = ll_span_next_offset(span, *offset);
        if (span->capacity > 0) {
            return span;
        }
    }
    return NULL;
}

// No fewer than the blocks alive. A thread stopped between taking a block and counting
// it has one more.
static uint32_t live_at_most(const struct ll_span* span) {
    return span->used + 1;
}

static bool visit_span(struct ll_span* span, ll_block_visitor* visit, void* context) {
    uint32_t left = live_at_most(span);
    for (uint32_t i = 0; i < span->capacity && left > 0; i++) {
        if (!ll_word_is_live(span, i)) {
            continue;
        }
        left--;
        if (!visit((struct ll_block){span, i}, context)) {
            return false;
        }
    }
    return true;
}

void ll_heap_visit(ll_block_visitor* visit, void* context) {
    uintptr_t offset = 0;
    struct ll_span* span;
    while ((span = next_span(&offset)) != NULL) {
        if (!visit_span(span, visit, context)) {
            return;
        }
    }
}

static bool clear_mark(struct ll_block block, void* context) {
    (void)context;
    if (ll_block_mark(block) != 0) {
        ll_block_set_mark(block, 0);
    }
    return true;
}

void ll_heap_clear_marks(void) {
    ll_heap_visit(clear_mark, NULL);
}

static bool count_block(struct ll_block block, void* context) {
    struct ll_heap_totals* totals = context;
    totals->live_blocks++;
    totals->live_bytes += ll_block_size(block);
    return true;
}

static uint64_t count_allocations(void) {
    uint64_t result = ll_headers_past_allocations() + ll_aged_allocations();
    uintptr_t offset = 0;
    struct ll_span* span;
    while ((span = next_span(&offset)) != NULL) {
        result += span->allocated;
    }
    return result;
}

// A span that is given up meanwhile is counted among the past ones or in the walk.
bool ll_heap_count_allocations(uint64_t* allocations) {
    enum { TRIES = 4 };
    for (int i = 0; i < TRIES; i++) {
        uint64_t past = ll_headers_past_allocations();
        *allocations = count_allocations();
        if (ll_headers_past_allocations() == past) {
            return true;
        }
    }
    return false;
}

void ll_heap_inherit_allocations(void) {
    inherited_allocations = count_allocations();
}

struct ll_heap_totals ll_heap_totals(void) {
    struct ll_heap_totals totals = {0};
    ll_heap_visit(count_block, &totals);
    uint64_t allocations = count_allocations();
    totals.allocations = allocations - inherited_allocations;
    totals.frees = allocations - totals.live_blocks;
    struct ll_units_totals units = ll_units_totals();
    totals.peak_bytes = (uint64_t)units.peak << LL_UNIT_SHIFT;
    totals.mapped_bytes = (uint64_t)units.committed << LL_UNIT_SHIFT;
    return totals;
}

// Spans are made and dissolved under the lock only.
struct ll_heap_totals ll_heap_totals_now(void) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    struct ll_heap_totals totals = ll_heap_totals();
    ll_lock_drop_masked(&ll_units_lock, mask);
    return totals;
}
