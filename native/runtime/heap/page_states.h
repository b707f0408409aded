// What lens `pages` knows of each page of the heap's range: nothing while it is off. A
// page is *watched* while it is out of the page table; if it is still out when somebody
// asks, nobody has touched it since. The allocator ends the watch over the pages of a
// block that is born, since a block cannot be idle for longer than it exists.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "os/memory.h"

// The state of a page: a flag, how often it is to be passed over before it is taken out
// again, and since when it is watched.
#define LL_PAGE_SEEN (UINT64_C(1) << 63) // was in the page table since it read as zeros
#define LL_PAGE_REST_SHIFT 61
#define LL_PAGE_REST (UINT64_C(3) << LL_PAGE_REST_SHIFT)
#define LL_PAGE_TIME ((UINT64_C(1) << LL_PAGE_REST_SHIFT) - 1)
enum {
    LL_PAGE_RESTS = 3,   // times that a page is passed over which was touched
    LL_PAGE_ACTIVE = 0,  // as a time: not watched
    LL_PAGE_PENDING = 1, // about to be watched
    LL_PAGE_FIRST = 2,   // added to the processor time in ms since when it is watched
};

struct ll_page_states {
    uint64_t* table; // NULL: off
    size_t count;    // pages of the range
    uintptr_t start; // of the range
    uint64_t births; // that ended the watch over a page, about
};
extern struct ll_page_states ll_page_states;

// Switches the table on; before the heap's start. False without memory.
bool ll_page_states_start(void);

// The range now has that many bytes. Under the lock of the units; false without memory.
bool ll_page_states_extend(uintptr_t range_start, size_t used_bytes);

// Pages that read as zeros from now on.
void ll_page_states_cleared(uintptr_t start, size_t size_bytes);

void ll_page_states_end_watch(uintptr_t start, size_t size_bytes);

LL_INLINE uint64_t* ll_page_state(uintptr_t address) {
    return &ll_page_states.table[(address - ll_page_states.start) >> LL_PAGE_SHIFT];
}

LL_INLINE bool ll_page_is_watched(uintptr_t address) {
    uint64_t state = __atomic_load_n(ll_page_state(address), __ATOMIC_RELAXED);
    return (state & LL_PAGE_TIME) != LL_PAGE_ACTIVE;
}

// Whether a watch may end with the birth of a block there, while the table is on.
LL_INLINE bool ll_page_states_mind(uintptr_t start, size_t size_bytes) {
    bool is_on_one_page = start % LL_PAGE_SIZE + size_bytes <= LL_PAGE_SIZE;
    return !is_on_one_page || ll_page_is_watched(start);
}

// A block was born there.
LL_INLINE void ll_page_states_born(uintptr_t start, size_t size_bytes) {
    if (LL_UNLIKELY(ll_page_states.table != NULL) &&
        LL_UNLIKELY(ll_page_states_mind(start, size_bytes))) {
        ll_page_states_end_watch(start, size_bytes);
    }
}
