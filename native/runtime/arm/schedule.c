#include "arm/schedule.h"

#include <stddef.h>
#include <time.h>

#include "arm/budget.h"
#include "arm/change.h"
#include "arm/clock.h"
#include "arm/due.h"
#include "arm/module.h"
#include "arm/places.h"
#include "arm/rate.h"
#include "arm/stress.h"
#include "arm/stubs.h"
#include "arm/text.h"
#include "arm/uses.h"
#include "arm/wake.h"
#include "arm/window.h"
#include "base/options.h"
#include "os/memory.h"
#include "os/own_thread.h"
#include "os/syscall.h"

enum {
    PASS_NS = 10000000, // CPU time between passes
    FIRST_WINDOW_NS = 200000000,
    // With everything armed all the time, a window ends and the next one begins.
    ALWAYS_WINDOW_NS = 250000000,
    NS_PER_US = 1000,
    LOOKS = 128, // after each pass, at the least
};

struct ll_lock ll_arm_lock;
static uint32_t awaiting; // threads that wait for it

static struct {
    struct ll_due due;
    uint64_t started_ns; // CLOCK_MONOTONIC and the time stamp counter at the start
    uint64_t started_stamp;
    uint64_t stamps_per_us;
    uint64_t passed_cpu_ns;
    struct ll_rate rate;
    struct ll_budget budget;
    uint64_t random;
    uint64_t window_due_ns; // CPU time
    uint64_t spent_ns;
    uint32_t swept_places; // when all stubs that had run were given back
    uint32_t text_places;  // when text was given back
    bool stopping;
    bool is_paused;
    struct ll_schedule_counts counts;
} schedule;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0};
    ll_syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t time_stamp(void) {
    return __builtin_ia32_rdtsc();
}

static void read_options(void) {
    schedule.rate =
        ll_rate_of(ll_options.burst, ll_options.decrease, ll_options.sampling_ppm);
    ll_budget_start(&schedule.budget, ll_options.budget_ppm);
    ll_arm.burst = schedule.rate.burst;
    ll_arm.is_always_armed = schedule.rate.thinnest == 1;
}

bool ll_schedule_start(void) {
    schedule.started_ns = clock_ns(CLOCK_MONOTONIC);
    schedule.started_stamp = time_stamp();
    schedule.stamps_per_us = 2000;
    schedule.window_due_ns = FIRST_WINDOW_NS;
    read_options();
    schedule.random = schedule.started_stamp | 1;
    ll_arm.run = ll_schedule_run;
    return ll_places_start() && ll_uses_start() &&
           ll_due_start(&schedule.due, LL_ARM_PLACES_MAX);
}

static uint64_t next_random(void) {
    uint64_t x = schedule.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return schedule.random = x;
}

static void measure_stamps(void) {
    uint64_t passed_us = (clock_ns(CLOCK_MONOTONIC) - schedule.started_ns) / 1000;
    if (passed_us > 1000) {
        schedule.stamps_per_us = (time_stamp() - schedule.started_stamp) / passed_us;
    }
}

static uint64_t ns_of_stamps(uint64_t stamps) {
    return stamps * NS_PER_US / schedule.stamps_per_us;
}

// When a site that ended a burst is due again; `time` is the length of the burst.
static void plan_next(struct ll_arm_record* record, uint64_t now) {
    enum { LEVEL_MAX = 20 };
    if (record->level < LEVEL_MAX) {
        record->level++;
    }
    struct ll_burst burst = {
        .level = record->level,
        .touches = record->burst != 0 ? record->burst : schedule.rate.burst,
        .length_ns = ns_of_stamps(record->time),
    };
    schedule.counts.bursts++;
    schedule.counts.touches += burst.touches;
    uint32_t chance = (uint32_t)(next_random() % (LL_CHANCE_MAX + 1));
    uint64_t sleep_ns = ll_rate_sleep_ns(&schedule.rate, burst, chance);
    record->burst = ll_rate_next_burst(&schedule.rate, burst);
    record->time = now + sleep_ns * schedule.stamps_per_us / NS_PER_US;
}

// Where threads cannot disarm their own sites.
static void disarm_poked(struct ll_arm_record* record) {
    const struct ll_arm_place* place = ll_arm_place_of(record);
    if (ll_arm.is_poked && place->module->plan.header != NULL) {
        ll_change_disarm(place->module, &place->site);
        __atomic_store_n(&record->state, LL_ARM_IDLE, __ATOMIC_RELEASE);
    }
}

static void take_over_ended(uint64_t now) {
    uint32_t place = __atomic_exchange_n(&ll_arm.queue, 0, __ATOMIC_ACQUIRE);
    while (place != 0) {
        struct ll_arm_record* record = &ll_arm.records[place];
        uint32_t next = record->next;
        disarm_poked(record);
        plan_next(record, now);
        ll_due_add(&schedule.due, record);
        place = next;
    }
}

static void arm_again(struct ll_arm_record* record) {
    const struct ll_arm_place* place = ll_arm_place_of(record);
    if (place->module->plan.header == NULL) {
        return;
    }
    record->left = 0;
    __atomic_store_n(&record->state, LL_ARM_FRESH, __ATOMIC_RELEASE);
    ll_change_arm(place->module, &place->site);
}

static void arm_due(uint64_t now) {
    uint64_t armed = 0;
    struct ll_arm_record* record;
    while (ll_budget_allows_burst(&schedule.budget) &&
           (record = ll_due_first(&schedule.due)) != NULL && record->time <= now) {
        ll_due_take(&schedule.due);
        arm_again(record);
        ll_budget_pay_burst(&schedule.budget);
        schedule.spent_ns += schedule.budget.burst_ns;
        armed++;
    }
    ll_changes_finish();
    ll_budget_learn(&schedule.budget, ns_of_stamps(time_stamp() - now), armed);
}

static void earn(uint64_t cpu_ns) {
    uint64_t turns = __atomic_exchange_n(&ll_arm.turn_stamps, 0, __ATOMIC_RELAXED);
    uint64_t turns_ns = ns_of_stamps(turns);
    ll_budget_earn(&schedule.budget, cpu_ns - schedule.passed_cpu_ns, turns_ns);
    schedule.passed_cpu_ns = cpu_ns;
    schedule.spent_ns += turns_ns;
}

// Most code of a start runs less often than a burst is long. Two bits of what is left
// tell whether it ran again, nearly always.
static bool runs_in_burst(struct ll_arm_record* record) {
    unsigned left = 1 + (uint32_t)record->left % 3;
    bool ran = record->state == LL_ARM_BURST && record->left_then != left;
    record->left_then = left & 3U;
    return ran;
}

static void let_go(const struct ll_arm_place* place, struct ll_arm_record* record) {
    if (runs_in_burst(record) || record->stub_ran) {
        record->stub_ran = 0;
        ll_stub_let_go(place);
    }
}

static void look_through_window(uint64_t cpu_ns) {
    uint64_t cost_ns =
        ll_arm.is_always_armed ? ll_window_always(ALWAYS_WINDOW_NS) : ll_window_pass();
    // In a long run the little code that is new now and then adds up.
    ll_arm_let_text_go();
    schedule.spent_ns += cost_ns;
    schedule.window_due_ns =
        cpu_ns + ll_budget_pause_ns(&schedule.budget, cost_ns, cpu_ns);
}

// Stubs that ran in bursts stay in memory until the next window: they are likely to run
// again, and to map a page anew costs more than a burst. But while a program starts,
// most of what runs will not run again, and there may never be a window.
static uint32_t first_to_let_go(uint32_t count) {
    enum { FEW = 64, SHARE = 16 };
    if (count - schedule.swept_places < FEW + schedule.swept_places / SHARE) {
        return ll_arm.settled_places + 1;
    }
    schedule.swept_places = count;
    return 1;
}

// Code that is new brings other code into memory, most of it while a program starts.
static void let_text_go(uint32_t count) {
    enum { FEW = 128, SHARE = 2 };
    if (count - schedule.text_places >= FEW + schedule.text_places / SHARE) {
        schedule.text_places = count;
        ll_arm_let_text_go();
    }
}

// New places were read from the tables of plans, and their stubs ran for the first
// time.
static void let_pages_go(void) {
    uint32_t count = __atomic_load_n(&ll_arm.place_count, __ATOMIC_RELAXED);
    if (count != ll_arm.settled_places) {
        uint32_t first = first_to_let_go(count);
        __atomic_store_n(&ll_arm.settled_places, count, __ATOMIC_RELAXED);
        ll_places_visit(first, let_go);
        ll_arm_let_tables_go();
        let_text_go(count);
    }
    ll_stubs_give_back();
}

// A process that was left alone may be one that limited its own system calls.
static void try_to(void (*act)(void)) {
    if (__atomic_load_n(&schedule.stopping, __ATOMIC_RELAXED)) {
        return;
    }
    uint64_t mask = ll_signals_block();
    if (ll_lock_try(&ll_arm_lock)) {
        act();
        ll_lock_drop(&ll_arm_lock);
    }
    ll_signals_restore(mask);
}

void ll_schedule_let_pages_go(void) {
    try_to(let_pages_go);
}

static void let_all_pages_go(void) {
    ll_places_visit(1, let_go);
    ll_stubs_give_back();
    ll_arm_let_tables_go();
    ll_arm_let_text_go();
}

void ll_schedule_let_all_pages_go(void) {
    try_to(let_all_pages_go);
}

static void allow_looks(void) {
    if (__atomic_load_n(&ll_looks_left, __ATOMIC_RELAXED) < LOOKS) {
        __atomic_store_n(&ll_looks_left, LOOKS, __ATOMIC_RELAXED);
    }
}

void ll_schedule_pass(void) {
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    __atomic_store_n(&ll_touch_tick, ll_tick_of_ns(cpu_ns), __ATOMIC_RELAXED);
    allow_looks();
    ll_lock_take(&ll_arm_lock);
    schedule.counts.passes++;
    measure_stamps();
    uint64_t now = time_stamp();
    earn(cpu_ns);
    take_over_ended(now);
    arm_due(now);
    if (cpu_ns >= schedule.window_due_ns) {
        look_through_window(cpu_ns);
    }
    let_pages_go();
    ll_lock_drop(&ll_arm_lock);
}

// Threads that were disarming a site when the process forked do not exist in the
// child.
static void finish_for_others(void) {
    uint32_t count = ll_arm.place_count;
    for (uint32_t i = 1; i <= count && i < LL_ARM_PLACES_MAX; i++) {
        struct ll_arm_record* record = &ll_arm.records[i];
        const struct ll_arm_place* place = &ll_arm.places[i];
        if (place->module != NULL && record->state == LL_ARM_ENDING &&
            place->module->plan.header != NULL) {
            ll_text_disarm(place->module, &place->site);
            record->time = 0;
            record->state = LL_ARM_IDLE;
            ll_due_add(&schedule.due, record);
        }
    }
}

static void stress(void) {
    struct timespec pause = {0, 20000};
    ll_stress_round();
    ll_syscall(SYS_nanosleep, &pause, NULL);
}

void ll_schedule_run(void) {
    while (!__atomic_load_n(&schedule.stopping, __ATOMIC_RELAXED)) {
        struct timespec pause = {0, PASS_NS};
        if (ll_options.arm_stress) {
            stress();
            continue;
        }
        ll_syscall(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, 0, &pause, NULL);
        ll_schedule_pass();
    }
}

void ll_schedule_hold(void) {
    __atomic_add_fetch(&awaiting, 1, __ATOMIC_RELAXED);
    ll_lock_take(&ll_arm_lock);
    __atomic_sub_fetch(&awaiting, 1, __ATOMIC_RELAXED);
}

void ll_schedule_let_go(void) {
    ll_lock_drop(&ll_arm_lock);
}

bool ll_schedule_is_awaited(void) {
    return __atomic_load_n(&awaiting, __ATOMIC_RELAXED) != 0;
}

void ll_schedule_fork_prepare(void) {
    ll_schedule_hold();
    ll_wake_hold();
}

void ll_schedule_fork_parent(void) {
    ll_wake_let_go();
    ll_schedule_let_go();
}

void ll_schedule_fork_child(void) {
    ll_wake_fork_child();
    ll_lock_renew(&ll_arm_lock);
    awaiting = 0;
    if (ll_arm.is_poked) {
        ll_change_by_poking();
    }
    ll_own_thread_forget();
    finish_for_others();
    schedule.passed_cpu_ns = 0;
    schedule.window_due_ns = FIRST_WINDOW_NS;
    schedule.budget.windows_ns = 0;
    ll_windows_forget();
    ll_touch_tick = 0;
    ll_arm.is_orphaned = true;
}

// The thread sleeps until the process has used CPU time, so waiting for it is busy.
void ll_schedule_stop(void) {
    const uint64_t patience_ns = 10000000000;
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    ll_arm.is_orphaned = false;
    __atomic_store_n(&schedule.stopping, true, __ATOMIC_RELAXED);
    while (ll_own_thread_id() != 0 && clock_ns(CLOCK_MONOTONIC) - start < patience_ns) {
        __builtin_ia32_pause();
    }
}

void ll_schedule_pause(void) {
    schedule.is_paused = ll_own_thread_id() != 0;
    if (schedule.is_paused) {
        ll_schedule_stop();
    }
    ll_own_thread_await_end();
}

void ll_schedule_resume(void) {
    if (schedule.is_paused) {
        schedule.is_paused = false;
        __atomic_store_n(&schedule.stopping, false, __ATOMIC_RELAXED);
        ll_own_thread_start(ll_schedule_run);
    }
}

struct ll_schedule_counts ll_schedule_counts(void) {
    schedule.counts.spent_ns = schedule.spent_ns;
    return schedule.counts;
}
