// How pages of aged spans are used, for whoever wants to merge them.
#include "heap/aged.h"
#include "os/memory.h"

enum { SHARING_MAX = LL_PAGE_SIZE / 2 };

static bool is_closed(const struct ll_span* span) {
    uint8_t list = __atomic_load_n(&span->list, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&span->kind, __ATOMIC_RELAXED) == LL_SPAN_SMALL &&
           __atomic_load_n(&span->owner, __ATOMIC_SEQ_CST) == LL_OWNER_AGED &&
           (list == LL_LIST_NONE || list == LL_LIST_REUSABLE) &&
           span->block_size <= SHARING_MAX;
}

bool ll_aged_is_sparse(uintptr_t address) {
    const struct ll_span* span = ll_span_of((void*)address);
    return is_closed(span) &&
           __atomic_load_n(&span->remote, __ATOMIC_RELAXED) >= span->capacity / 2;
}

// Both offsets are in bytes from the start of the page.
static void mark_used(struct ll_granules* used, uintptr_t start, uintptr_t end) {
    for (uintptr_t i = start / LL_GRANULE; i < end / LL_GRANULE; i++) {
        used->bits[i / 64] |= (uint64_t)1 << i % 64;
    }
}

bool ll_aged_use_of_page(uintptr_t page, struct ll_granules* used, uint32_t* class) {
    const struct ll_span* span = ll_span_of((void*)page);
    *used = (struct ll_granules){0};
    if (!is_closed(span)) {
        return false;
    }
    *class = span->class;
    uintptr_t page_end = page + LL_PAGE_SIZE;
    for (uint32_t index = ll_span_index(span, page); index < span->capacity; index++) {
        uintptr_t start = span->start + (uintptr_t)index * span->block_size;
        uintptr_t end = start + span->block_size;
        if (start >= page_end) {
            break;
        }
        if (ll_word_is_live(span, index)) {
            mark_used(used, start > page ? start - page : 0,
                      (end < page_end ? end : page_end) - page);
        }
    }
    return true;
}
