#include "arm/uses.h"

#include <stddef.h>

#include "base/attributes.h"
#include "os/memory.h"

enum { BUCKETS = 1 << 14 };

static struct ll_use* uses; // by number, from 1
static uint32_t* buckets;   // first use of each hash; 0: none
static uint32_t use_count;

static LL_THREAD_LOCAL uint32_t recent[LL_USES_BEFORE];

bool ll_uses_start(void) {
    // Pages appear as they are touched.
    uses = ll_memory_map((LL_TOUCH_USE_MAX + 1) * sizeof *uses);
    buckets = ll_memory_map(BUCKETS * sizeof *buckets);
    return uses != NULL && buckets != NULL;
}

static uint32_t* bucket_of(uint32_t place, uint32_t node) {
    uint64_t key = (uint64_t)place << 32 | node;
    return &buckets[(key * 0x9e3779b97f4a7c15U) >> 40 & (BUCKETS - 1)];
}

static uint32_t find(uint32_t first, uint32_t place, uint32_t node) {
    while (first != 0 && (uses[first].place != place || uses[first].node != node)) {
        first = uses[first].next;
    }
    return first;
}

// Two threads may add the same use at once; it then has two numbers, and both are
// right.
static uint32_t add(uint32_t* bucket, uint32_t place, uint32_t node) {
    if (__atomic_load_n(&use_count, __ATOMIC_RELAXED) >= LL_TOUCH_USE_MAX) {
        return 0;
    }
    uint32_t number = __atomic_add_fetch(&use_count, 1, __ATOMIC_RELAXED);
    if (number > LL_TOUCH_USE_MAX) {
        return 0;
    }
    struct ll_use* use = &uses[number];
    use->place = place;
    use->node = node;
    uint32_t head = __atomic_load_n(bucket, __ATOMIC_RELAXED);
    do {
        use->next = head;
    } while (!__atomic_compare_exchange_n(bucket, &head, number, false,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return number;
}

uint32_t ll_use_number(uint32_t place, uint32_t node) {
    uint32_t* bucket = bucket_of(place, node);
    uint32_t found = find(__atomic_load_n(bucket, __ATOMIC_ACQUIRE), place, node);
    return found != 0 ? found : add(bucket, place, node);
}

void ll_use_note(uint32_t number) {
    if (number == 0 || recent[0] == number) {
        return;
    }
    for (unsigned i = 0; i < LL_USES_BEFORE; i++) {
        __atomic_store_n(&uses[number].before[i], recent[i], __ATOMIC_RELAXED);
    }
    for (unsigned i = LL_USES_BEFORE - 1; i > 0; i--) {
        recent[i] = recent[i - 1];
    }
    recent[0] = number;
}

const struct ll_use* ll_use_get(uint32_t number) {
    return number == 0 ? NULL : &uses[number];
}
