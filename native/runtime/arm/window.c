#include "arm/window.h"

#include <time.h>

#include "arm/change.h"
#include "arm/clock.h"
#include "arm/places.h"
#include "arm/schedule.h"
#include "arm/stubs.h"
#include "base/attributes.h"
#include "os/syscall.h"

enum {
    // CPU time of the program in a window: as long as it takes to arm everything, so
    // that neither is in vain, but within these.
    SHORTEST_NS = 2000000,
    LONGEST_NS = 20000000,
    PAUSE_NS = 1000000,
    PAUSES_MAX = 250, // the program may sleep, or get little of a busy machine
    WINDOWS_KEPT = 4096,
};

// Ticks at which windows were opened, ascending; the oldest make room for new ones.
static LL_BULK uint64_t opened[WINDOWS_KEPT];
static struct ll_window_counts counts;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0};
    ll_syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool change_state(struct ll_arm_record* record, uint8_t from, uint8_t to) {
    return __atomic_compare_exchange_n(&record->state, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void open_site(const struct ll_arm_place* place, struct ll_arm_record* record) {
    if (record->state == LL_ARM_IDLE) {
        record->left = 0;
        __atomic_store_n(&record->state, LL_ARM_WINDOW, __ATOMIC_RELEASE);
        ll_change_arm(place->module, &place->site);
    }
}

static void close_site(const struct ll_arm_place* place, struct ll_arm_record* record) {
    if (record->left != 0) {
        record->stub_ran = 1;
    }
    if (change_state(record, LL_ARM_WINDOW, LL_ARM_IDLE)) {
        ll_change_disarm(place->module, &place->site);
    } else if (record->state == LL_ARM_BURST && record->left > UINT16_MAX) {
        // Its burst went on for the window.
        record->left = 1;
    }
}

static void let_stub_go(const struct ll_arm_place* place,
                        struct ll_arm_record* record) {
    if (record->stub_ran) {
        record->stub_ran = 0;
        ll_stub_let_go(place);
    }
}

// Moves nothing: that would be a call of libc's code, which may be armed, and the
// runtime's own thread must not run that.
static void keep(uint64_t tick) {
    opened[counts.windows % WINDOWS_KEPT] = tick;
    counts.windows++;
}

// CPU time of the program alone.
static uint64_t program_ns(void) {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// Lets the program run for about `wanted_ns`; returns how long it did.
static uint64_t let_run(uint64_t wanted_ns) {
    struct timespec pause = {0, PAUSE_NS};
    uint64_t start = program_ns();
    uint64_t ran = 0;
    for (int i = 0; i < PAUSES_MAX && ran < wanted_ns && !ll_schedule_is_awaited();
         i++) {
        ll_syscall(SYS_nanosleep, &pause, NULL);
        // The two clocks are read one after the other: their difference may step back.
        uint64_t now = program_ns();
        ran = now > start ? now - start : 0;
    }
    return ran;
}

uint64_t ll_window_pass(void) {
    uint64_t own_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    __atomic_store_n(&ll_arm.window_is_open, true, __ATOMIC_RELEASE);
    ll_places_visit(1, open_site);
    ll_changes_finish();
    uint64_t tick = ll_touch_tick;
    uint64_t wanted = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own_start;
    wanted = wanted < SHORTEST_NS ? SHORTEST_NS : wanted;
    wanted = wanted > LONGEST_NS ? LONGEST_NS : wanted;
    uint64_t ran = let_run(wanted);
    __atomic_store_n(&ll_arm.window_is_open, false, __ATOMIC_RELEASE);
    ll_places_visit(1, close_site);
    ll_changes_finish();
    ll_places_visit(1, let_stub_go);
    ll_stubs_give_back();
    // A program that slept showed nothing, and one that ran little not enough.
    if (ran >= SHORTEST_NS) {
        keep(tick);
        counts.window_ns += ran;
    }
    // What the program did in the window it would have done in a fraction of the time.
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - own_start + ran;
}

uint64_t ll_window_always(uint64_t length_ns) {
    keep(ll_touch_tick);
    counts.window_ns += length_ns;
    return 0;
}

uint32_t ll_windows_since(uint64_t tick) {
    uint64_t low = counts.windows < WINDOWS_KEPT ? 0 : counts.windows - WINDOWS_KEPT;
    uint64_t high = counts.windows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (opened[middle % WINDOWS_KEPT] > tick) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (uint32_t)(counts.windows - low);
}

struct ll_window_counts ll_window_counts(void) {
    return counts;
}

void ll_windows_forget(void) {
    counts = (struct ll_window_counts){0};
}
