// Large blocks. What is free comes and goes under the lock of the units; a block itself
// is its holder's.
#include "heap/large.h"

#include <string.h>

#include "heap/headers.h"
#include "heap/large_cache.h"
#include "heap/page_states.h"
#include "os/memory.h"

enum {
    // From here on it is cheaper to give dirty pages back, or to move them, than to
    // write all of them.
    PAGES_BEAT_COPIES = 1 << 20,
};

static size_t units_for(size_t size_bytes) {
    return (size_bytes >> LL_UNIT_SHIFT) + 1;
}

static struct ll_span* make_span(const struct ll_run* run, size_t unit_count) {
    struct ll_span* span = ll_header_take_bare();
    if (span == NULL) {
        return NULL;
    }
    span->kind = LL_SPAN_LARGE;
    span->words = &span->large_word;
    ll_word_set(span, 0, 0);
    span->capacity = 1;
    span->reciprocal = 0;
    span->block_size = 0;
    span->start = run->start;
    span->unit_count = (uint32_t)unit_count;
    span->zeroed = run->zeroed;
    ll_units_bind(span);
    return span;
}

static struct ll_span* take_span(const struct ll_large_request* request) {
    size_t count = units_for(request->size_bytes);
    size_t alignment = request->alignment >> LL_UNIT_SHIFT;
    struct ll_run run;
    if (!ll_units_take(count, alignment > 1 ? alignment : 1, request->wish, &run)) {
        return NULL;
    }
    struct ll_span* span = make_span(&run, count);
    if (span == NULL) {
        ll_units_give(run.start, count, LL_PAGES_ANY);
    }
    return span;
}

// Everything that is free for want of use goes back first, then once more.
static struct ll_span* take_span_or_make_room(struct ll_heap* heap,
                                              const struct ll_large_request* request) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    struct ll_span* span = take_span(request);
    if (span == NULL) {
        if (heap != NULL) {
            ll_large_cache_flush(heap);
        }
        ll_abandoned_sweep();
        ll_units_give_up_space();
        span = take_span(request);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    return span;
}

static void clear(char* start, size_t size_bytes) {
    size_t purged = 0;
    if (size_bytes >= PAGES_BEAT_COPIES && (uintptr_t)start % LL_PAGE_SIZE == 0) {
        size_t in_pages = size_bytes & ~(size_t)(LL_PAGE_SIZE - 1);
        purged = ll_memory_purge(start, in_pages) ? in_pages : 0;
        if (purged > 0) {
            ll_page_states_cleared((uintptr_t)start, purged);
        }
    }
    memset(start + purged, 0, size_bytes - purged);
}

static struct ll_span* find_span(struct ll_heap* heap,
                                 const struct ll_large_request* request) {
    struct ll_span* span = NULL;
    if (heap != NULL && request->alignment <= LL_UNIT_SIZE) {
        span = ll_large_cache_take(heap, units_for(request->size_bytes));
    }
    return span != NULL ? span : take_span_or_make_room(heap, request);
}

// How far behind the start of its first unit a block starts. If all started there,
// loops over several of them would use the same few lines of the processor's cache.
// Blocks whose pages may be moved stay at the start of a page.
static size_t colour(const struct ll_span* span,
                     const struct ll_large_request* request) {
    enum { LINE = 64, LINES = 64 };
    static uint32_t last;
    if (request->alignment > LINE || request->size_bytes >= PAGES_BEAT_COPIES) {
        return 0;
    }
    uint32_t line = __atomic_fetch_add(&last, 5, __ATOMIC_RELAXED) % LINES;
    size_t wanted = (size_t)line * LINE;
    size_t room_bytes = ((size_t)span->unit_count << LL_UNIT_SHIFT) - 1;
    size_t slack = (room_bytes - request->size_bytes) & ~(size_t)(LINE - 1);
    return wanted < slack ? wanted : slack;
}

void* ll_large_allocate(struct ll_heap* heap, const struct ll_large_request* request) {
    if (request->size_bytes > PTRDIFF_MAX) {
        return NULL;
    }
    struct ll_span* span = find_span(heap, request);
    if (span == NULL) {
        return NULL;
    }
    span->start = ll_span_first_unit(span) + colour(span, request);
    char* start = (char*)span->start;
    if (request->wish == LL_PAGES_ZEROED && !span->zeroed) {
        clear(start, request->size_bytes);
    }
    span->zeroed = false;
    span->large_size = request->size_bytes;
    span->allocated++;
    ll_keep_order();
    ll_word_set(span, 0, request->word);
    return start;
}

void ll_large_dissolve(struct ll_span* span) {
    uintptr_t start = ll_span_first_unit(span);
    size_t count = span->unit_count;
    ll_header_give(span);
    ll_units_give(start, count, LL_PAGES_ANY);
}

bool ll_large_release(struct ll_heap* heap, struct ll_span* span, void* block) {
    if (span->start != (uintptr_t)block || !ll_word_is_live(span, 0)) {
        return false;
    }
    ll_word_set(span, 0, 0);
    if (heap == NULL || !ll_large_cache_keep(heap, span)) {
        uint64_t mask = ll_lock_take_masked(&ll_units_lock);
        ll_large_dissolve(span);
        ll_lock_drop_masked(&ll_units_lock, mask);
    }
    return true;
}

static bool fit_units(struct ll_span* span, size_t count) {
    if (count > span->unit_count &&
        !ll_units_take_following(ll_span_end(span), count - span->unit_count)) {
        return false;
    }
    size_t surplus = span->unit_count > count ? span->unit_count - count : 0;
    span->unit_count = (uint32_t)count;
    if (surplus > 0) {
        ll_units_give(ll_span_end(span), surplus, LL_PAGES_ANY);
    } else {
        ll_units_bind(span);
    }
    return true;
}

static bool fit_units_locked(struct ll_span* span, size_t count) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    bool fits = fit_units(span, count);
    ll_lock_drop_masked(&ll_units_lock, mask);
    return fits;
}

bool ll_large_resize(struct ll_span* span, size_t size_bytes, uint64_t word) {
    if (size_bytes > PTRDIFF_MAX) {
        return false;
    }
    size_t count = units_for(span->start - ll_span_first_unit(span) + size_bytes);
    if (count != span->unit_count && !fit_units_locked(span, count)) {
        return false;
    }
    span->large_size = size_bytes;
    ll_word_set(span, 0, word);
    return true;
}

void ll_large_move_contents(struct ll_span* from, struct ll_span* to) {
    size_t size = from->large_size < to->large_size ? from->large_size : to->large_size;
    bool are_at_pages = (from->start | to->start) % LL_PAGE_SIZE == 0;
    if (size < PAGES_BEAT_COPIES || !are_at_pages ||
        !ll_memory_move((void*)from->start, (void*)to->start, size)) {
        memcpy((void*)to->start, (void*)from->start, size);
    }
}

size_t ll_large_room(const struct ll_span* span) {
    return ll_span_end(span) - span->start - 1;
}
