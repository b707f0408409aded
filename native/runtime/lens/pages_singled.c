#include "lens/pages_singled.h"

#include <stdbool.h>
#include <time.h>

#include "heap/page_states.h"
#include "lens/pages_state.h"
#include "lens/pages_touches.h"
#include "os/backing.h"
#include "os/syscall.h"

enum { NS_PER_MS = 1000000 };

// What is singled out; the companion writes it.
static size_t page_count;
static uint32_t mappings; // as of ll_backing_mappings

void ll_singled_begin(void) {
    __atomic_store_n(&page_count, 0, __ATOMIC_RELAXED);
}

void ll_singled_update(struct ll_presence* presence) {
    size_t count = __atomic_load_n(&ll_page_states.count, __ATOMIC_ACQUIRE);
    uint32_t mappings_now = ll_backing_mappings();
    if (ll_page_touches_have_ended(presence)) {
        ll_singled_begin();
    }
    if (count != page_count || mappings_now != mappings) {
        ll_pages.is_coarse = !ll_presence_single_out(presence, ll_page_states.start,
                                                     count << LL_PAGE_SHIFT);
        __atomic_store_n(&page_count, count, __ATOMIC_RELAXED);
        __atomic_store_n(&mappings, mappings_now, __ATOMIC_RELEASE);
    }
}

void ll_singled_update_and_sleep(struct ll_presence* presence, uint64_t milliseconds) {
    uint32_t known = ll_backing_mappings();
    if (page_count != 0) {
        ll_singled_update(presence);
    }
    ll_backing_await_mapping(known, milliseconds);
}

void ll_singled_await(void) {
    enum { TRIES = 500 };
    struct timespec step = {.tv_nsec = NS_PER_MS / 10};
    bool is_wanted = __atomic_load_n(&page_count, __ATOMIC_RELAXED) != 0;
    for (int i = 0; is_wanted && i < TRIES; i++) {
        if (__atomic_load_n(&mappings, __ATOMIC_ACQUIRE) == ll_backing_mappings()) {
            return;
        }
        (void)ll_syscall(SYS_nanosleep, &step, NULL);
    }
}
