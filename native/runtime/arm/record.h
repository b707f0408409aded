// Sites at run time. A *site* is a load or store that may touch the heap. While it is
// *armed* it jumps to its stub, which notes the touch; it disarms itself after a
// *burst* of touches and waits in the queue of the scheduler, which arms it again.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arm/plan.h"
#include "heap/span.h"

// Of a group; other sites than its first have always the first of them.
enum ll_arm_state {
    LL_ARM_FRESH,  // armed, and no touch of the burst was seen yet
    LL_ARM_BURST,  // armed, within a burst
    LL_ARM_ENDING, // to be disarmed: by the thread that noted the last touch, or poked
    LL_ARM_IDLE,   // not armed; in the queue or with the scheduler
    LL_ARM_WINDOW, // armed for a window
};

// What is known of a site that was touched; its number is that of its place. Number 0
// stands for all sites that were not, and has no touches left. `ll_arm_note` knows the
// first fields by offset.
struct ll_arm_record {
    int32_t left; // touches left of the burst; below 1 the next one takes the slow path
    uint32_t next; // place of the next site in the queue; 0 at its end
    // Which use a touch is, and by whom: read and written together.
    uint32_t use;      // number of the use; 0 while none is known
    uint32_t caller;   // low half of the return address of the function that is running
    int16_t caller_at; // words from the stack pointer, or rbp, to that address
    uint8_t caller_by_rbp; // 1: from rbp
    uint8_t changes;       // of `use` since the site was armed
    uint8_t state;         // ll_arm_state
    // Threads and the scheduler write the byte of these three without a lock. `level`
    // changes only between bursts, when no thread writes; of the others a lost write
    // gives a page back once too often or too late.
    uint8_t level : 5;     // bursts so far, up to the scheduler's limit
    uint8_t stub_ran : 1;  // in a burst or window that has ended, and is not let go yet
    uint8_t left_then : 2; // tells `left` when its page was let go; 0: it never was
    uint16_t burst;        // touches of the current burst; 0 is the option's value
    // Time stamp counter at the first touch of a burst; then the length of the burst;
    // then when it is due again.
    uint64_t time;
};
_Static_assert(sizeof(struct ll_arm_record) == 32, "ll_arm_note multiplies by it");

// Few sites are touched, and those lie close together: the places of so many sites in a
// row are kept together, as soon as one of them has a place.
enum { LL_ARM_ROW = 32 };

// Of a page of stubs.
enum ll_arm_room {
    LL_ARM_ROOM_WANTED, // not mapped yet
    LL_ARM_ROOM_TAKEN,  // mapped
    LL_ARM_ROOM_REFUSED // others have mapped something there
};

// One armed module. `ll_arm_note` knows the fields up to `rows` by offset, and
// `ll_arm_enter` the one after it.
struct ll_arm_module {
    uint32_t* row_of; // by number of the site / LL_ARM_ROW; 0: none of them was touched
    const struct ll_range* range;
    const uint64_t* tick; // of the touch clock
    // The slow path; the registers are those of the instruction.
    void (*turn)(struct ll_arm_module* module, uint32_t site, uintptr_t sp,
                 uintptr_t rbp, uintptr_t address);
    uintptr_t twin_distance;       // from a block's word to its touch word
    struct ll_arm_record* records; // of all modules
    const uint32_t* rows;          // of all modules
    // The first entry into a part (arm/wake.h).
    void (*wake)(struct ll_arm_module* module, uint32_t part);
    struct ll_arm_plan plan; // header NULL: the module is gone
    uintptr_t bias;
    uint8_t* fit;         // one bit per site: 1 where its group can be armed by now
    uint8_t* awake;       // one bit per part: 1 when it was entered, or armed unasked
    uint8_t* rooms;       // one ll_arm_room per mapping of the plan
    uint8_t* written;     // one bit per text page, see arm/image.h; NULL: no image
    uint8_t* code_pages;  // of the plan, from which stubs are mapped; NULL: all are
    uint32_t unfit_count; // sites of groups that should be armed and cannot
    uint32_t told_count;  // of them, those that somebody was told of
    uint32_t reads;       // of the plan's tables since their pages were given back
    bool is_loaded;       // as far as the census knows
};

// A site that was touched at least once, by number from 1.
struct ll_arm_place {
    struct ll_arm_module* module; // NULL: not given out, or just being
    struct ll_arm_site site;      // from the plan, whose pages need not stay in memory
};

enum { LL_ARM_PLACES_MAX = 1 << 20 };

// Where the function that runs keeps its return address, in words above a register.
struct ll_arm_caller {
    int16_t at;
    bool by_rbp;
};

struct ll_arm {
    struct ll_arm_place* places;
    struct ll_arm_record* records;
    // Numbers of places by site; 0: it has none. Rows begin where `row_of` says, and
    // the first one stays 0.
    uint32_t* rows;
    uint32_t burst;          // touches of a burst, unless a record says otherwise
    uint32_t place_count;    // numbers given out, beyond the maximum too
    uint32_t settled_places; // of them, those whose stubs and tables were given back
    uint32_t queue;          // place of the site that ended a burst last; 0: none
    uint64_t turn_stamps;    // time that turns outside of windows took, by its counter
    void (*run)(void);       // of the scheduler's thread
    // The call stack at an instruction, as a node; tells where its return address is.
    // 0 when that is not known. NULL while nobody wants to know.
    uint32_t (*stack_at)(uintptr_t pc, uintptr_t sp, uintptr_t rbp,
                         struct ll_arm_caller* caller);
    bool window_is_open;  // bursts do not end
    bool is_always_armed; // bursts never end
    bool is_poked;        // code is changed by the scheduler alone (arm/change.h)
    bool is_orphaned;     // a forked child has no such thread yet
};
extern struct ll_arm ll_arm;

static inline bool ll_arm_is_fit(const struct ll_arm_module* module, uint32_t number) {
    return (module->fit[number / 8] >> number % 8 & 1) != 0;
}

static inline void ll_arm_set_fit(struct ll_arm_module* module, uint32_t number) {
    module->fit[number / 8] |= (uint8_t)(1 << number % 8);
}

// Calls `visit` with the number of the first site of each group of the module.
static inline void ll_arm_visit_groups(struct ll_arm_module* module,
                                       void (*visit)(struct ll_arm_module* module,
                                                     uint32_t number, void* context),
                                       void* context) {
    enum { SITES_AT_ONCE = 4096 };
    uint32_t read = 0;
    for (uint32_t i = 0; i < module->plan.header->site_count;
         i += module->plan.sites[i].site_count) {
        visit(module, i, context);
        // The whole table would be in memory at the end.
        if (i / SITES_AT_ONCE != read / SITES_AT_ONCE) {
            ll_arm_plan_let_go(&module->plan);
            read = i;
        }
    }
}

// The number of a site's place; 0 before its first touch.
static inline uint32_t ll_arm_place_number(const struct ll_arm_module* module,
                                           uint32_t site) {
    uint32_t row =
        __atomic_load_n(&module->row_of[site / LL_ARM_ROW], __ATOMIC_ACQUIRE);
    return __atomic_load_n(&ll_arm.rows[row + site % LL_ARM_ROW], __ATOMIC_ACQUIRE);
}

static inline struct ll_arm_place* ll_arm_place_of(const struct ll_arm_record* record) {
    return &ll_arm.places[record - ll_arm.records];
}

// Of the instruction, as it was when the module was loaded.
static inline uintptr_t ll_arm_address_of(const struct ll_arm_place* place) {
    return place->module->bias + place->site.address;
}
