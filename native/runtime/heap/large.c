// Large blocks, all under the lock of the units.
#include "heap/large.h"

#include <string.h>

#include "heap/headers.h"
#include "heap/local.h"
#include "os/memory.h"

enum {
    // From here on it is cheaper to give dirty pages back, or to move them, than to
    // write all of them.
    PAGES_BEAT_COPIES = 1 << 20,
};

static size_t units_for(size_t size_bytes) {
    return (size_bytes >> LL_UNIT_SHIFT) + 1;
}

static struct ll_span* make_span(const struct ll_run* run, size_t size_bytes,
                                 uint64_t word) {
    struct ll_span* span = ll_header_take_bare();
    if (span == NULL) {
        return NULL;
    }
    span->kind = LL_SPAN_LARGE;
    span->words = &span->large_word;
    span->capacity = 1;
    span->reciprocal = 0;
    span->block_size = 0;
    span->start = run->start;
    span->unit_count = (uint32_t)units_for(size_bytes);
    span->large_size = size_bytes;
    span->allocated = 1;
    ll_word_set(span, 0, word);
    ll_units_bind(span);
    return span;
}

static struct ll_span* take_span(size_t size_bytes, size_t alignment,
                                 enum ll_pages wish, uint64_t word,
                                 struct ll_run* run) {
    size_t count = units_for(size_bytes);
    size_t unit_alignment = alignment > LL_UNIT_SIZE ? alignment >> LL_UNIT_SHIFT : 1;
    if (!ll_units_take(count, unit_alignment, wish, run)) {
        return NULL;
    }
    struct ll_span* span = make_span(run, size_bytes, word);
    if (span == NULL) {
        ll_units_give(run->start, count, LL_PAGES_ANY);
    }
    return span;
}

static void clear(void* start, size_t size_bytes) {
    size_t in_pages = size_bytes & ~(size_t)(LL_PAGE_SIZE - 1);
    if (size_bytes >= PAGES_BEAT_COPIES) {
        ll_memory_purge(start, in_pages);
        memset((char*)start + in_pages, 0, size_bytes - in_pages);
    } else {
        memset(start, 0, size_bytes);
    }
}

void* ll_large_allocate(size_t size_bytes, size_t alignment, enum ll_pages wish,
                        uint32_t birth, ll_site site) {
    if (size_bytes > PTRDIFF_MAX) {
        return NULL;
    }
    uint64_t word = (uint64_t)birth << LL_WORD_SIZE_SHIFT | site;
    struct ll_run run;
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    struct ll_span* span = take_span(size_bytes, alignment, wish, word, &run);
    if (span == NULL) {
        ll_abandoned_sweep();
        ll_units_give_up_space();
        span = take_span(size_bytes, alignment, wish, word, &run);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    if (span == NULL) {
        return NULL;
    }
    if (wish == LL_PAGES_ZEROED && !run.zeroed) {
        clear((void*)run.start, size_bytes);
    }
    return (void*)run.start;
}

static bool is_live_at(const struct ll_span* span, uintptr_t start) {
    return span->kind == LL_SPAN_LARGE && span->start == start &&
           (ll_word_get(span, 0) & LL_WORD_LIVE) != 0;
}

bool ll_large_release(struct ll_span* span, void* block) {
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    bool is_live = is_live_at(span, (uintptr_t)block);
    if (is_live) {
        size_t count = span->unit_count;
        ll_word_set(span, 0, 0);
        ll_header_give(span);
        ll_units_give((uintptr_t)block, count, LL_PAGES_ANY);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    return is_live;
}

static uintptr_t end_of(const struct ll_span* span) {
    return span->start + ((uintptr_t)span->unit_count << LL_UNIT_SHIFT);
}

static bool fit_units(struct ll_span* span, size_t count) {
    if (count > span->unit_count &&
        !ll_units_take_following(end_of(span), count - span->unit_count)) {
        return false;
    }
    size_t surplus = span->unit_count > count ? span->unit_count - count : 0;
    span->unit_count = (uint32_t)count;
    if (surplus > 0) {
        ll_units_give(end_of(span), surplus, LL_PAGES_ANY);
    } else {
        ll_units_bind(span);
    }
    return true;
}

bool ll_large_resize(struct ll_span* span, size_t size_bytes, ll_site site) {
    if (size_bytes > PTRDIFF_MAX) {
        return false;
    }
    uint64_t mask = ll_lock_take_masked(&ll_units_lock);
    size_t count = units_for(size_bytes);
    bool fits = count == span->unit_count || fit_units(span, count);
    if (fits) {
        span->large_size = size_bytes;
        uint64_t upper = ll_word_get(span, 0) & ~(uint64_t)UINT32_MAX;
        ll_word_set(span, 0, upper | site);
    }
    ll_lock_drop_masked(&ll_units_lock, mask);
    return fits;
}

void ll_large_move_contents(struct ll_span* from, struct ll_span* to) {
    size_t size = from->large_size < to->large_size ? from->large_size : to->large_size;
    if (size < PAGES_BEAT_COPIES ||
        !ll_memory_move((void*)from->start, (void*)to->start, size)) {
        memcpy((void*)to->start, (void*)from->start, size);
    }
}

size_t ll_large_room(const struct ll_span* span) {
    return ((size_t)span->unit_count << LL_UNIT_SHIFT) - 1;
}
