#include "heap/page_states.h"

#include "heap/arena.h"
#include "heap/span.h"

struct ll_page_states ll_page_states;

static struct ll_arena arena;

bool ll_page_states_start(void) {
    size_t pages = (size_t)1 << (LL_RANGE_SHIFT - LL_PAGE_SHIFT);
    if (!ll_arena_start(&arena, pages * sizeof(uint64_t))) {
        return false;
    }
    ll_page_states.table = (uint64_t*)arena.start;
    return true;
}

bool ll_page_states_extend(uintptr_t range_start, size_t used_bytes) {
    if (ll_page_states.table == NULL) {
        return true;
    }
    size_t count = used_bytes >> LL_PAGE_SHIFT;
    size_t needed = count * sizeof(uint64_t);
    if (needed > arena.used_bytes &&
        ll_arena_take(&arena, needed - arena.used_bytes) == NULL) {
        return false;
    }
    if (ll_page_states.count == 0) {
        ll_page_states.start = range_start;
    }
    __atomic_store_n(&ll_page_states.count, count, __ATOMIC_RELEASE);
    return true;
}

static uint64_t* last_state(uintptr_t start, size_t size_bytes) {
    return ll_page_state(start + (size_bytes > 0 ? size_bytes - 1 : 0));
}

// The page is about to be touched, as one that is in use.
static void end_watch(uint64_t* state) {
    uint64_t before = __atomic_load_n(state, __ATOMIC_RELAXED);
    if ((before & LL_PAGE_TIME) == LL_PAGE_ACTIVE) {
        return;
    }
    if ((before & LL_PAGE_TIME) >= LL_PAGE_FIRST) {
        before |= LL_PAGE_REST;
        __atomic_add_fetch(&ll_page_states.births, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(state, before & ~LL_PAGE_TIME, __ATOMIC_SEQ_CST);
}

void ll_page_states_end_watch(uintptr_t start, size_t size_bytes) {
    const uint64_t* last = last_state(start, size_bytes);
    for (uint64_t* state = ll_page_state(start); state <= last; state++) {
        end_watch(state);
    }
}

void ll_page_states_cleared(uintptr_t start, size_t size_bytes) {
    if (ll_page_states.table == NULL) {
        return;
    }
    const uint64_t* last = last_state(start, size_bytes);
    for (uint64_t* state = ll_page_state(start); state <= last; state++) {
        if (__atomic_load_n(state, __ATOMIC_RELAXED) != 0) {
            __atomic_store_n(state, 0, __ATOMIC_SEQ_CST);
        }
    }
}
