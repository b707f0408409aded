// How pages of strips are used, for whoever wants to merge them.
#include "heap/aged.h"
#include "heap/strips.h"
#include "os/memory.h"

enum { SHARING_MAX = LL_PAGE_SIZE / 2 };

// The closed strip of a page whose blocks are small enough to share it.
static const struct ll_strip* shareable_at(uintptr_t page) {
    return ll_span_of((void*)page)->block_size <= SHARING_MAX
               ? ll_strips_closed_at(page)
               : NULL;
}

bool ll_aged_is_sparse(uintptr_t address) {
    const struct ll_strip* strip = shareable_at(address);
    return strip != NULL && ll_strip_is_sparse(strip);
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
    if (shareable_at(page) == NULL) {
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
