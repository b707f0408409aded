#include "arm/stress.h"

#include "arm/change.h"
#include "arm/module.h"
#include "arm/places.h"
#include "arm/schedule.h"
#include "arm/stubs.h"
#include "arm/wake.h"

enum { TOGGLES_PER_MODULE = 400 };

static uint64_t random_state = 88172645463325252U;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static bool change_state(struct ll_arm_record* record, uint8_t from, uint8_t to) {
    return __atomic_compare_exchange_n(&record->state, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void toggle(struct ll_arm_module* module, uint32_t number) {
    const struct ll_arm_site* site = &module->plan.sites[number];
    if (site->site_count == 0 || !ll_arm_is_fit(module, number)) {
        return;
    }
    struct ll_arm_record* record = ll_place_record(module, number);
    if (record == NULL) {
        return;
    }
    if (change_state(record, LL_ARM_IDLE, LL_ARM_FRESH)) {
        ll_change_arm(module, site);
    } else if (change_state(record, LL_ARM_FRESH, LL_ARM_IDLE) ||
               (ll_arm.is_poked && change_state(record, LL_ARM_ENDING, LL_ARM_IDLE))) {
        ll_change_disarm(module, site);
    }
}

static void wake_some(struct ll_arm_module* module) {
    uint32_t parts = module->plan.header->part_count;
    if (parts != 0 && module->code_pages != NULL) {
        ll_wake_part(module, (uint32_t)(next_random() % parts));
    }
}

// A stretch of neighbours, which share cache lines and jump bytes, and as many at
// random.
static void toggle_some(struct ll_arm_module* module, void* unused) {
    (void)unused;
    uint32_t count = module->plan.header->site_count;
    if (count == 0) {
        return;
    }
    wake_some(module);
    uint32_t first = (uint32_t)(next_random() % count);
    for (uint32_t i = 0; i < TOGGLES_PER_MODULE; i++) {
        toggle(module, (first + i) % count);
        toggle(module, (uint32_t)(next_random() % count));
    }
}

// Of stubs that other threads may be running.
static void let_some_go(const struct ll_arm_place* place,
                        struct ll_arm_record* record) {
    enum { ONE_IN = 64 };
    (void)record;
    if (next_random() % ONE_IN == 0) {
        ll_stub_let_go(place);
    }
}

void ll_stress_round(void) {
    ll_lock_take(&ll_arm_lock);
    __atomic_store_n(&ll_arm.queue, 0, __ATOMIC_RELEASE);
    ll_arm_visit_modules(toggle_some, NULL);
    ll_changes_finish();
    ll_places_visit(1, let_some_go);
    ll_stubs_give_back();
    ll_lock_drop(&ll_arm_lock);
}
