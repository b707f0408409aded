#include "arm/places.h"

#include <stddef.h>

#include "arm/stubs.h"
#include "os/memory.h"

enum { ROWS_MAX = 1 << 17 };
static uint32_t row_count = 1; // the first one belongs to sites that have none

bool ll_places_start(void) {
    // Pages appear as they are touched.
    ll_arm.rows = ll_memory_map((size_t)ROWS_MAX * LL_ARM_ROW * sizeof *ll_arm.rows);
    ll_arm.places = ll_memory_map(LL_ARM_PLACES_MAX * sizeof *ll_arm.places);
    ll_arm.records = ll_memory_map(LL_ARM_PLACES_MAX * sizeof *ll_arm.records);
    return ll_arm.places != NULL && ll_arm.records != NULL && ll_arm.rows != NULL;
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
    place->site.other_page = ll_stub_other_page(&module->plan, &place->site);
    __atomic_store_n(&module->reads, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&place->module, module, __ATOMIC_RELEASE);
    return number;
}

static uint32_t new_row(void) {
    if (__atomic_load_n(&row_count, __ATOMIC_RELAXED) >= ROWS_MAX) {
        return 0;
    }
    uint32_t number = __atomic_fetch_add(&row_count, 1, __ATOMIC_RELAXED);
    return number < ROWS_MAX ? number * LL_ARM_ROW : 0;
}

// Another thread may be faster; what is there then is its number.
static uint32_t fill(uint32_t* empty, uint32_t made) {
    uint32_t found = 0;
    if (made != 0 && __atomic_compare_exchange_n(empty, &found, made, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return made;
    }
    return found;
}

static uint32_t add_place(struct ll_arm_module* module, uint32_t site) {
    uint32_t* row_of = &module->row_of[site / LL_ARM_ROW];
    uint32_t row = __atomic_load_n(row_of, __ATOMIC_ACQUIRE);
    if (row == 0) {
        row = fill(row_of, new_row());
    }
    return row == 0
               ? 0
               : fill(&ll_arm.rows[row + site % LL_ARM_ROW], new_place(module, site));
}

struct ll_arm_record* ll_place_record(struct ll_arm_module* module, uint32_t site) {
    uint32_t number = ll_arm_place_number(module, site);
    if (number == 0) {
        number = add_place(module, site);
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
