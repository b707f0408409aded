#include "arm/turn.h"

#include "arm/places.h"
#include "arm/schedule.h"
#include "arm/text.h"
#include "arm/uses.h"
#include "arm/vectors.h"
#include "os/own_thread.h"

enum {
    // Words from the stack pointer of the instruction to the number of its site, which
    // the stub pushes: compared with itself instead of a return address.
    NUMBER_AT = -18,
    // Callers told apart each time a site is armed; the rest is one use without a
    // stack, so that code with many callers stays fast.
    CHANGES_MAX = 32,
    // Fewer in a window, which is to see much of what the program does.
    WINDOW_CHANGES_MAX = 2,
    // New places that may have their stubs and tables in memory, and more of them, one
    // in so many, where there are many already. A program starts so fast that it runs
    // thousands before the scheduler's next pass.
    UNSETTLED_MAX = 32,
    UNSETTLED_SHARE = 256,
};

struct ll_arm ll_arm;

// A stack is being taken, or the like; what that touches is none of the program's.
static LL_THREAD_LOCAL bool is_walking;
// The program's vector registers meanwhile. Not on its stack, which may be small.
static LL_THREAD_LOCAL _Alignas(64) uint8_t vectors[LL_VECTORS_BYTES];

// A touch that takes the slow path; the registers are those of the instruction.
struct touch {
    struct ll_arm_module* module;
    uint32_t site;
    uintptr_t sp;
    uintptr_t rbp;
    uintptr_t address; // that is touched
};

static uint32_t number_of(const struct ll_arm_record* record) {
    return (uint32_t)(record - ll_arm.records);
}

static uint64_t time_stamp(void) {
    return __builtin_ia32_rdtsc();
}

static bool change_state(struct ll_arm_record* record, uint8_t from, uint8_t to) {
    return __atomic_compare_exchange_n(&record->state, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// The walk is compiled like any code, and may call libc's string functions.
static uint32_t stack_at(uintptr_t pc, uintptr_t sp, uintptr_t rbp,
                         struct ll_arm_caller* caller) {
    is_walking = true;
    ll_vectors_save(vectors);
    uint32_t node = ll_arm.stack_at(pc, sp, rbp, caller);
    ll_vectors_restore(vectors);
    is_walking = false;
    return node;
}

static void settle_new_places(void) {
    uint32_t settled = __atomic_load_n(&ll_arm.settled_places, __ATOMIC_RELAXED);
    uint32_t count = __atomic_load_n(&ll_arm.place_count, __ATOMIC_RELAXED);
    uint32_t most = UNSETTLED_MAX + settled / UNSETTLED_SHARE;
    if (count - settled < most || ll_arm.stack_at == NULL || is_walking) {
        return;
    }
    is_walking = true;
    ll_vectors_save(vectors);
    ll_schedule_let_pages_go();
    ll_vectors_restore(vectors);
    is_walking = false;
}

static void set_use(struct ll_arm_record* record, uint32_t use, uint32_t caller) {
    __atomic_store_n((uint64_t*)&record->use, (uint64_t)caller << 32 | use,
                     __ATOMIC_RELAXED);
}

static void use_without_stack(struct ll_arm_record* record, uint32_t site) {
    uint32_t use = ll_use_number(number_of(record), 0);
    record->caller_by_rbp = 0;
    record->caller_at = NUMBER_AT;
    set_use(record, use, site);
    ll_use_note(use);
}

// Until it touches the heap the site needs no use. A caller that nobody is makes that
// touch take the slow path.
static void await_use(struct ll_arm_record* record, uint32_t site) {
    record->caller_by_rbp = 0;
    record->caller_at = NUMBER_AT;
    set_use(record, 0, ~site);
}

static bool is_in_heap(const struct touch* touch) {
    const struct ll_range* range = touch->module->range;
    return touch->address - range->start < range->used_bytes;
}

// The site is used by whoever called the function that it is in.
static void take_use(struct ll_arm_record* record, const struct touch* touch) {
    struct ll_arm_caller caller;
    if (!is_in_heap(touch)) {
        await_use(record, touch->site);
        return;
    }
    if (ll_arm.stack_at == NULL || is_walking || record->changes >= CHANGES_MAX) {
        use_without_stack(record, touch->site);
        return;
    }
    record->changes++;
    // As if the instruction were a call that has just returned: its frame is the same.
    uintptr_t pc = ll_arm_address_of(ll_arm_place_of(record)) + 1;
    uint32_t node = stack_at(pc, touch->sp, touch->rbp, &caller);
    uint32_t use = node == 0 ? 0 : ll_use_number(number_of(record), node);
    if (use == 0) {
        use_without_stack(record, touch->site);
        return;
    }
    record->caller_by_rbp = caller.by_rbp;
    record->caller_at = caller.at;
    uintptr_t frame = caller.by_rbp ? touch->rbp : touch->sp;
    const uint32_t* address = (const uint32_t*)(frame + (uintptr_t)caller.at * 8);
    set_use(record, use, *address);
    ll_use_note(use);
}

// All sites of the group take their uses anew, so many at the most.
static void let_group_begin(const struct ll_arm_record* record,
                            const struct touch* touch, uint8_t changes) {
    uint32_t count = ll_arm_place_of(record)->site.site_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = ll_arm_place_number(touch->module, touch->site + i);
        if (place != 0) {
            ll_arm.records[place].changes = changes;
            __atomic_store_n(&ll_arm.records[place].left, 0, __ATOMIC_RELAXED);
        }
    }
}

static void begin_burst(struct ll_arm_record* record, const struct touch* touch) {
    if (!change_state(record, LL_ARM_FRESH, LL_ARM_BURST)) {
        return;
    }
    let_group_begin(record, touch, 0);
    take_use(record, touch);
    record->time = time_stamp();
    uint32_t burst = record->burst != 0 ? record->burst : ll_arm.burst;
    __atomic_store_n(&record->left, (int32_t)burst - 1, __ATOMIC_RELAXED);
}

static void put_into_queue(struct ll_arm_record* record) {
    uint32_t head = __atomic_load_n(&ll_arm.queue, __ATOMIC_RELAXED);
    do {
        record->next = head;
    } while (!__atomic_compare_exchange_n(&ll_arm.queue, &head, number_of(record),
                                          false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    if (LL_UNLIKELY(ll_arm.is_orphaned) &&
        __atomic_exchange_n(&ll_arm.is_orphaned, false, __ATOMIC_ACQ_REL)) {
        ll_own_thread_start(ll_arm.run);
    }
}

static void end_burst(struct ll_arm_module* module, struct ll_arm_record* record) {
    if (__atomic_load_n(&ll_arm.window_is_open, __ATOMIC_ACQUIRE) ||
        ll_arm.is_always_armed) {
        __atomic_store_n(&record->left, INT32_MAX, __ATOMIC_RELAXED);
        return;
    }
    if (!change_state(record, LL_ARM_BURST, LL_ARM_ENDING)) {
        return;
    }
    if (ll_arm.is_poked) {
        __atomic_store_n(&record->left, INT32_MAX, __ATOMIC_RELAXED);
    } else {
        ll_text_disarm(module, &ll_arm_place_of(record)->site);
    }
    record->time = time_stamp() - record->time;
    record->stub_ran = 1;
    if (!ll_arm.is_poked) {
        __atomic_store_n(&record->state, LL_ARM_IDLE, __ATOMIC_RELEASE);
    }
    put_into_queue(record);
}

// A site that the first one of its group arms and disarms.
static void turn_beside(struct ll_arm_record* record, const struct touch* touch) {
    if (__atomic_load_n(&record->left, __ATOMIC_RELAXED) <= 0) {
        __atomic_store_n(&record->left, INT32_MAX, __ATOMIC_RELAXED);
    }
    take_use(record, touch);
}

static void turn_first(struct ll_arm_record* record, const struct touch* touch) {
    int32_t left = __atomic_load_n(&record->left, __ATOMIC_RELAXED);
    switch (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE)) {
    case LL_ARM_FRESH:
        begin_burst(record, touch);
        break;
    case LL_ARM_BURST:
        // A thread may come here late, when another has begun the next burst.
        if (left <= 0) {
            end_burst(touch->module, record);
        } else {
            take_use(record, touch);
        }
        break;
    case LL_ARM_WINDOW:
        if (left <= 0) {
            let_group_begin(record, touch, CHANGES_MAX - WINDOW_CHANGES_MAX);
            __atomic_store_n(&record->left, INT32_MAX, __ATOMIC_RELAXED);
        }
        take_use(record, touch);
        break;
    default:
        break;
    }
    // The touch that ends a burst may be its first one of the heap, and so may that of
    // a thread which comes when the burst has ended.
    if (record->use == 0) {
        take_use(record, touch);
    }
}

static void turn(const struct touch* touch) {
    struct ll_arm_record* record = ll_place_record(touch->module, touch->site);
    if (record == NULL) {
        // It is touched by "nobody" from now on, and always by the slow path.
        __atomic_store_n(&ll_arm.records[0].left, 0, __ATOMIC_RELAXED);
    } else if (ll_arm_place_of(record)->site.site_count == 0) {
        turn_beside(record, touch);
    } else {
        turn_first(record, touch);
    }
}

void ll_arm_turn(struct ll_arm_module* module, uint32_t site, uintptr_t sp,
                 uintptr_t rbp, uintptr_t address) {
    const struct touch touch = {module, site, sp, rbp, address};
    uint64_t start = time_stamp();
    turn(&touch);
    settle_new_places();
    if (!__atomic_load_n(&ll_arm.window_is_open, __ATOMIC_RELAXED)) {
        __atomic_add_fetch(&ll_arm.turn_stamps, time_stamp() - start, __ATOMIC_RELAXED);
    }
}
