#include "arm/turn.h"

#include "arm/text.h"
#include "os/own_thread.h"

struct ll_arm ll_arm;

static uint64_t time_stamp(void) {
    return __builtin_ia32_rdtsc();
}

// Numbers run out only in programs with a million sites that run; the others are then
// touched by "nobody".
static uint32_t new_place(struct ll_arm_module* module, struct ll_arm_record* record) {
    uint32_t number = __atomic_add_fetch(&ll_arm.place_count, 1, __ATOMIC_RELAXED);
    if (number >= LL_ARM_PLACES_MAX) {
        return 0;
    }
    struct ll_arm_place* place = &ll_arm.places[number];
    place->module = module;
    place->address = module->bias + ll_arm_site_of(module, record)->address;
    __atomic_store_n(&place->record, record, __ATOMIC_RELEASE);
    return number;
}

static bool change_state(struct ll_arm_record* record, uint8_t from, uint8_t to) {
    return __atomic_compare_exchange_n(&record->state, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void begin_burst(struct ll_arm_module* module, uint32_t site) {
    struct ll_arm_record* record = &module->records[site];
    if (!change_state(record, LL_ARM_FRESH, LL_ARM_BURST)) {
        return;
    }
    record->site = site;
    if (record->place == 0) {
        record->place = new_place(module, record);
    }
    record->time = time_stamp();
    uint32_t burst = record->burst != 0 ? record->burst : ll_arm.burst;
    __atomic_store_n(&record->left, (int32_t)burst - 1, __ATOMIC_RELAXED);
}

static void put_into_queue(struct ll_arm_record* record) {
    struct ll_arm_record* head = __atomic_load_n(&ll_arm.queue, __ATOMIC_RELAXED);
    do {
        record->next = head;
    } while (!__atomic_compare_exchange_n(&ll_arm.queue, &head, record, false,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    if (LL_UNLIKELY(ll_arm.is_orphaned) &&
        __atomic_exchange_n(&ll_arm.is_orphaned, false, __ATOMIC_ACQ_REL)) {
        ll_own_thread_start(ll_arm.run);
    }
}

static void end_burst(struct ll_arm_module* module, struct ll_arm_record* record) {
    if (__atomic_load_n(&ll_arm.window_is_open, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&record->left, INT32_MAX, __ATOMIC_RELAXED);
        return;
    }
    if (!change_state(record, LL_ARM_BURST, LL_ARM_ENDING)) {
        return;
    }
    ll_text_disarm(module, ll_arm_site_of(module, record));
    record->time = time_stamp() - record->time;
    __atomic_store_n(&record->state, LL_ARM_IDLE, __ATOMIC_RELEASE);
    put_into_queue(record);
}

void ll_arm_turn(struct ll_arm_module* module, uint32_t site) {
    struct ll_arm_record* record = &module->records[site];
    switch (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE)) {
    case LL_ARM_FRESH:
        begin_burst(module, site);
        break;
    case LL_ARM_BURST:
        // A thread may come here late, when another has begun the next burst.
        if (__atomic_load_n(&record->left, __ATOMIC_RELAXED) <= 0) {
            end_burst(module, record);
        }
        break;
    default:
        break;
    }
}
