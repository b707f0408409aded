#include "lens/roots.h"

#include <stdatomic.h>

#include "os/memory.h"

// Slots are taken by the first to change `start` from 0 and count once `state` says so,
// so a stopped writer leaves at most a slot that does not count yet. Slots are reused,
// pages of slots are never given back.
enum state { FREE, REGION, STACK, ENDED_STACK };

struct slot {
    _Atomic uintptr_t start;
    _Atomic uintptr_t end;
    _Atomic uintptr_t thread_pointer;
    _Atomic uint32_t state;
};

enum { SLOTS_IN_PAGE = (LL_PAGE_SIZE - sizeof(void*)) / sizeof(struct slot) };

struct page {
    struct page* _Atomic next;
    struct slot slots[SLOTS_IN_PAGE];
};

static struct page* _Atomic first_page;
static enum ll_roots_extent extent;

// The slot after `at`, in all pages; NULL at the end. Begins with NULL.
struct cursor {
    struct page* page;
    unsigned index;
};

static struct slot* next_slot(struct cursor* cursor) {
    if (cursor->page == NULL) {
        cursor->page = atomic_load(&first_page);
    } else if (++cursor->index == SLOTS_IN_PAGE) {
        cursor->page = atomic_load(&cursor->page->next);
        cursor->index = 0;
    }
    return cursor->page == NULL ? NULL : &cursor->page->slots[cursor->index];
}

static struct slot* claim_slot(uintptr_t start) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        uintptr_t free_start = 0;
        if (atomic_load(&slot->start) == 0 &&
            atomic_compare_exchange_strong(&slot->start, &free_start, start)) {
            return slot;
        }
    }
    return NULL;
}

static bool add_page(void) {
    struct page* page = ll_memory_map(sizeof *page);
    if (page == NULL) {
        return false;
    }
    struct page* old = atomic_load(&first_page);
    do {
        atomic_store(&page->next, old);
    } while (!atomic_compare_exchange_weak(&first_page, &old, page));
    return true;
}

static void add(uintptr_t start, uintptr_t end, uintptr_t thread_pointer,
                enum state state) {
    if (start == 0 || end <= start) {
        return;
    }
    struct slot* slot;
    while ((slot = claim_slot(start)) == NULL) {
        if (!add_page()) {
            return;
        }
    }
    atomic_store(&slot->end, end);
    atomic_store(&slot->thread_pointer, thread_pointer);
    atomic_store(&slot->state, (uint32_t)state);
}

static void release(struct slot* slot) {
    atomic_store(&slot->state, FREE);
    atomic_store(&slot->start, 0);
}

// Another thread may remove the same range at the same moment; one of them wins.
static bool take(struct slot* slot, enum state state) {
    uint32_t expected = (uint32_t)state;
    return atomic_compare_exchange_strong(&slot->state, &expected, FREE);
}

void ll_roots_add(const void* start, size_t size_bytes) {
    add((uintptr_t)start, (uintptr_t)start + size_bytes, 0, REGION);
}

void ll_roots_remove(const void* start, size_t size_bytes) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        if (atomic_load(&slot->state) == REGION &&
            atomic_load(&slot->start) == (uintptr_t)start &&
            slot->end == (uintptr_t)start + size_bytes && take(slot, REGION)) {
            release(slot);
            return;
        }
    }
}

void ll_roots_mapped(uintptr_t start, uintptr_t end) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        if (atomic_load(&slot->state) == ENDED_STACK &&
            atomic_load(&slot->start) < end && start < atomic_load(&slot->end) &&
            take(slot, ENDED_STACK)) {
            release(slot);
        }
    }
}

static uintptr_t thread_pointer_within(uintptr_t start, uintptr_t end) {
    uintptr_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer >= start && pointer < end ? pointer : 0;
}

void ll_roots_thread_stack_begin(uintptr_t start, uintptr_t end) {
    ll_roots_mapped(start, end);
    add(start, end, thread_pointer_within(start, end), STACK);
}

void ll_roots_thread_stack_end(uintptr_t start, uintptr_t end) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        if (atomic_load(&slot->state) == STACK && atomic_load(&slot->start) == start &&
            slot->end == end) {
            atomic_store(&slot->state, ENDED_STACK);
            return;
        }
    }
}

static struct ll_root read_slot(struct slot* slot, uint32_t state) {
    return (struct ll_root){
        .start = atomic_load(&slot->start),
        .end = atomic_load(&slot->end),
        .thread_pointer = atomic_load(&slot->thread_pointer),
        .ended = state == ENDED_STACK,
    };
}

void ll_roots_visit_regions(ll_root_visitor* visit, void* context) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        if (atomic_load(&slot->state) == REGION) {
            struct ll_root root = read_slot(slot, REGION);
            visit(&root, context);
        }
    }
}

void ll_roots_visit_stacks(ll_root_visitor* visit, void* context) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        uint32_t state = atomic_load(&slot->state);
        if (state == STACK || state == ENDED_STACK) {
            struct ll_root root = read_slot(slot, state);
            visit(&root, context);
        }
    }
}

bool ll_roots_stack_at(uintptr_t address, struct ll_root* stack) {
    struct cursor cursor = {0};
    struct slot* slot;
    while ((slot = next_slot(&cursor)) != NULL) {
        uint32_t state = atomic_load(&slot->state);
        if ((state == STACK || state == ENDED_STACK) &&
            address >= atomic_load(&slot->start) && address < atomic_load(&slot->end)) {
            *stack = read_slot(slot, state);
            return true;
        }
    }
    return false;
}

void ll_roots_limit(enum ll_roots_extent wanted) {
    extent = wanted;
}

enum ll_roots_extent ll_roots_extent(void) {
    return extent;
}
