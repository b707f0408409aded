#include "lens/picks.h"

#include "os/memory.h"

enum {
    PAGE_BYTES = 16 * LL_PAGE_SIZE,
    IN_PAGE = PAGE_BYTES / sizeof(uintptr_t) - 2,
};

struct ll_picks_page {
    struct ll_picks_page* below;
    size_t count;
    uintptr_t addresses[IN_PAGE];
};

bool ll_picks_push(struct ll_picks* picks, uintptr_t address) {
    if (picks->top == NULL || picks->top->count == IN_PAGE) {
        struct ll_picks_page* page = ll_memory_map(PAGE_BYTES);
        if (page == NULL) {
            return false;
        }
        page->below = picks->top;
        picks->top = page;
    }
    picks->top->addresses[picks->top->count++] = address;
    return true;
}

bool ll_picks_pop(struct ll_picks* picks, uintptr_t* address) {
    struct ll_picks_page* page = picks->top;
    if (page == NULL) {
        return false;
    }
    *address = page->addresses[--page->count];
    if (page->count == 0) {
        picks->top = page->below;
        ll_memory_unmap(page, PAGE_BYTES);
    }
    return true;
}
