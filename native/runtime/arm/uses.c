#include "arm/uses.h"

#include <stddef.h>

#include "base/attributes.h"
#include "os/memory.h"

// The first uses have buckets of their own: most programs have no others, and touch
// two pages of them instead of all.
enum { FEW_USES = 8192, FEW_BUCKETS = 1 << 11, BUCKETS = 1 << 14 };

static struct ll_use* uses; // by number, from 1
static uint32_t* buckets;   // first use of each hash, 0: none; then those of the few
static uint32_t use_count;

static LL_THREAD_LOCAL uint32_t recent[LL_USES_BEFORE];

bool ll_uses_start(void) {
    // Pages appear as they are touched.
    uses = ll_memory_map((LL_TOUCH_USE_MAX + 1) * sizeof *uses);
    buckets = ll_memory_map((BUCKETS + FEW_BUCKETS) * sizeof *buckets);
    return uses != NULL && buckets != NULL;
}

static uint32_t hash(uint32_t place, uint32_t node) {
    uint64_t key = (uint64_t)place << 32 | node;
    return (uint32_t)((key * 0x9e3779b97f4a7c15U) >> 40);
}

static uint32_t* bucket_of(uint32_t hash) {
    return &buckets[hash % BUCKETS];
}

static uint32_t* bucket_of_few(uint32_t hash) {
    return &buckets[BUCKETS + hash % FEW_BUCKETS];
}

static uint32_t find(const uint32_t* bucket, uint32_t place, uint32_t node) {
    uint32_t first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    while (first != 0 && (uses[first].place != place || uses[first].node != node)) {
        first = uses[first].next;
    }
    return first;
}

static uint32_t find_any(uint32_t key, uint32_t place, uint32_t node) {
    uint32_t found = find(bucket_of_few(key), place, node);
    bool has_others = __atomic_load_n(&use_count, __ATOMIC_RELAXED) > FEW_USES;
    return found == 0 && has_others ? find(bucket_of(key), place, node) : found;
}

// Two threads may add the same use at once; it then has two numbers, and both are
// right.
static uint32_t add(uint32_t key, uint32_t place, uint32_t node) {
    if (__atomic_load_n(&use_count, __ATOMIC_RELAXED) >= LL_TOUCH_USE_MAX) {
        return 0;
    }
    uint32_t number = __atomic_add_fetch(&use_count, 1, __ATOMIC_RELAXED);
    if (number > LL_TOUCH_USE_MAX) {
        return 0;
    }
    uint32_t* bucket = number > FEW_USES ? bucket_of(key) : bucket_of_few(key);
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
    uint32_t key = hash(place, node);
    uint32_t found = find_any(key, place, node);
    return found != 0 ? found : add(key, place, node);
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
