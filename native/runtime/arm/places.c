#include "arm/places.h"

#include <stddef.h>

#include "os/memory.h"

bool ll_places_start(void) {
    // Pages appear as they are touched.
    ll_arm.places = ll_memory_map(LL_ARM_PLACES_MAX * sizeof *ll_arm.places);
    ll_arm.records = ll_memory_map(LL_ARM_PLACES_MAX * sizeof *ll_arm.records);
    return ll_arm.places != NULL && ll_arm.records != NULL;
}

// Numbers run out only in programs with a million sites that run.
static uint32_t new_place(struct ll_arm_module* module, uint32_t site) {
    if (__atomic_load_n(&ll_arm.place_count, __ATOMIC_RELAXED) >=
        LL_ARM_PLACES_MAX - 1) {
        return 0;
    }
    uint32_t number = __atomic_add_fetch(&ll_arm.place_count, 1, __ATOMIC_RELAXED);
    if (number >= LL_ARM_PLACES_MAX) {
        return 0;
    }
    struct ll_arm_place* place = &ll_arm.places[number];
    place->site = *ll_arm_plan_site(&module->plan, site);
    __atomic_store_n(&place->module, module, __ATOMIC_RELEASE);
    return number;
}

struct ll_arm_record* ll_place_record(struct ll_arm_module* module, uint32_t site) {
    uint32_t number = __atomic_load_n(&module->place_of[site], __ATOMIC_ACQUIRE);
    if (number == 0) {
        uint32_t made = new_place(module, site);
        // Another thread may be faster; its number is then the site's.
        if (made != 0 &&
            __atomic_compare_exchange_n(&module->place_of[site], &number, made, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            number = made;
        }
    }
    return number == 0 ? NULL : &ll_arm.records[number];
}

void ll_places_visit(uint32_t first, void (*visit)(const struct ll_arm_place* place,
                                                   struct ll_arm_record* record)) {
    uint32_t count = __atomic_load_n(&ll_arm.place_count, __ATOMIC_ACQUIRE);
    uint32_t end = count < LL_ARM_PLACES_MAX - 1 ? count + 1 : LL_ARM_PLACES_MAX;
    for (uint32_t i = first; i < end; i++) {
        const struct ll_arm_place* place = &ll_arm.places[i];
        const struct ll_arm_module* module =
            __atomic_load_n(&place->module, __ATOMIC_ACQUIRE);
        if (module != NULL && module->plan.header != NULL) {
            visit(place, &ll_arm.records[i]);
        }
    }
}
