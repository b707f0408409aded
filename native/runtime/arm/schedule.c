#include "arm/schedule.h"

#include <stddef.h>
#include <time.h>

#include "arm/change.h"
#include "arm/clock.h"
#include "arm/due.h"
#include "arm/module.h"
#include "arm/places.h"
#include "arm/stress.h"
#include "arm/stubs.h"
#include "arm/text.h"
#include "arm/uses.h"
#include "arm/window.h"
#include "base/options.h"
#include "os/memory.h"
#include "os/own_thread.h"
#include "os/syscall.h"

enum {
    PASS_NS = 10000000, // CPU time between passes
    // No site sleeps longer, whatever its rate: what it alone touches would look stale.
    SLEEP_MAX_NS = 1000000000,
    FIRST_WINDOW_NS = 200000000,
    WINDOW_EVERY_NS = 250000000, // at the most often
    WINDOWS_SHARE = 2,           // of the budget: one part in so many
    COST_FIRST_NS = 1500,        // of one burst, until it is measured
    PPM = 1000000,
    HOT_TOUCH_NS = 50, // sites touched more often than this get longer bursts
    HOT_FACTOR = 10,
};

struct ll_lock ll_arm_lock;
static uint32_t awaiting; // threads that wait for it

static struct {
    struct ll_due due;
    uint64_t started_ns; // CLOCK_MONOTONIC and the time stamp counter at the start
    uint64_t started_stamp;
    uint64_t stamps_per_us;
    uint64_t passed_cpu_ns;
    int64_t credit_ns; // CPU time that may still be spent
    uint64_t cost_ns;  // of one burst
    uint64_t random;
    uint64_t window_due_ns; // CPU time
    uint64_t windows_ns;    // that all windows cost
    uint64_t spent_ns;
    uint32_t known_places; // as many as there were at the latest pass
    bool stopping;
    bool is_paused;
    struct ll_schedule_counts counts;
} schedule;

// The options, as far as they make sense.
static struct {
    uint32_t burst;
    uint64_t decrease;
    uint64_t thinnest; // executions per sampled one at the least frequent
    uint64_t budget_ppm;
} settings;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0};
    ll_syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t time_stamp(void) {
    return __builtin_ia32_rdtsc();
}

static uint64_t within(uint64_t least, uint64_t value, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

static void read_settings(void) {
    settings.burst = (uint32_t)within(1, ll_options.burst, UINT16_MAX / HOT_FACTOR);
    settings.decrease = within(2, ll_options.decrease, PPM);
    settings.thinnest = PPM / within(1, ll_options.sampling_ppm, PPM);
    settings.budget_ppm = within(1, ll_options.budget_ppm, PPM);
    ll_arm.burst = settings.burst;
    ll_arm.is_always_armed = settings.thinnest == 1;
}

bool ll_schedule_start(void) {
    schedule.started_ns = clock_ns(CLOCK_MONOTONIC);
    schedule.started_stamp = time_stamp();
    schedule.stamps_per_us = 2000;
    schedule.cost_ns = COST_FIRST_NS;
    schedule.window_due_ns = FIRST_WINDOW_NS;
    read_settings();
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

// Executions per sampled one, after so many bursts: 1, 10, 100 ... as the options say.
static uint64_t thinning(unsigned level) {
    uint64_t result = 1;
    for (unsigned i = 0; i < level && result < settings.thinnest; i++) {
        result *= settings.decrease;
    }
    return result < settings.thinnest ? result : settings.thinnest;
}

static uint32_t burst_of(const struct ll_arm_record* record) {
    return record->burst != 0 ? record->burst : settings.burst;
}

// When a site that ended a burst is due again; `time` is the length of the burst. Half
// of it to one and a half times, at random, so that sites do not march in step with
// the program.
static void plan_next(struct ll_arm_record* record, uint64_t now) {
    enum { LEVEL_MAX = 20, RANDOM_ONE = 1024 };
    uint64_t length = record->time;
    uint64_t touch_ns = length * 1000 / schedule.stamps_per_us / burst_of(record);
    schedule.counts.bursts++;
    schedule.counts.touches += burst_of(record);
    if (record->level < LEVEL_MAX) {
        record->level++;
    }
    uint64_t longest = SLEEP_MAX_NS / 1000 * schedule.stamps_per_us;
    uint64_t factor = thinning(record->level) - 1;
    uint64_t sleep = length > longest / (factor + 1) ? longest : length * factor;
    sleep = sleep / RANDOM_ONE * (RANDOM_ONE / 2 + next_random() % RANDOM_ONE);
    bool is_hot = record->level > 1 && touch_ns < HOT_TOUCH_NS;
    record->burst = (uint16_t)(settings.burst * (is_hot ? HOT_FACTOR : 1));
    record->time = now + sleep;
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

// What arming costs here the program pays again when the site disarms itself.
static void learn_cost(uint64_t spent_stamps, uint64_t armed) {
    enum { OWN_SHARE = 2, SMOOTHING = 8 };
    if (armed >= SMOOTHING) {
        uint64_t each_ns = spent_stamps * 1000 / schedule.stamps_per_us / armed;
        uint64_t cost_ns = each_ns * OWN_SHARE + 200;
        schedule.cost_ns += (cost_ns - schedule.cost_ns) / SMOOTHING;
        if (schedule.cost_ns > 100 * COST_FIRST_NS) {
            schedule.cost_ns = 100 * COST_FIRST_NS;
        }
    }
}

static void arm_due(uint64_t now) {
    uint64_t armed = 0;
    struct ll_arm_record* record;
    while (schedule.credit_ns > 0 && (record = ll_due_first(&schedule.due)) != NULL &&
           record->time <= now) {
        ll_due_take(&schedule.due);
        arm_again(record);
        schedule.credit_ns -= (int64_t)schedule.cost_ns;
        schedule.spent_ns += schedule.cost_ns;
        armed++;
    }
    ll_changes_finish();
    learn_cost(time_stamp() - now, armed);
}

static void earn(uint64_t cpu_ns) {
    // Neither is saved for long, nor paid back: all code has its first turns at once.
    const int64_t most_ns = 2000000;
    uint64_t passed = cpu_ns - schedule.passed_cpu_ns;
    schedule.passed_cpu_ns = cpu_ns;
    uint64_t budget = passed * settings.budget_ppm / PPM;
    schedule.credit_ns += (int64_t)(budget - budget / WINDOWS_SHARE);
    uint64_t turns_ns = __atomic_exchange_n(&ll_arm.turn_stamps, 0, __ATOMIC_RELAXED) *
                        1000 / schedule.stamps_per_us;
    schedule.spent_ns += turns_ns;
    schedule.credit_ns -= (int64_t)turns_ns;
    if (schedule.credit_ns > most_ns) {
        schedule.credit_ns = most_ns;
    } else if (schedule.credit_ns < -most_ns) {
        schedule.credit_ns = -most_ns;
    }
}

// When the budget has paid for a window. But what was idle for a third of the run
// should have met one, also in short runs: then the budget is paid back later.
static uint64_t pause_after_window(uint64_t cost_ns, uint64_t cpu_ns) {
    enum { ADVANCE_SHARE = 25 }; // of all CPU time, one part in so many
    uint64_t pause_ns = cost_ns * WINDOWS_SHARE * PPM / settings.budget_ppm;
    uint64_t longest_ns = cpu_ns * 2 / 5;
    schedule.windows_ns += cost_ns;
    if (pause_ns > longest_ns && schedule.windows_ns < cpu_ns / ADVANCE_SHARE) {
        pause_ns = longest_ns;
    }
    return pause_ns > WINDOW_EVERY_NS ? pause_ns : WINDOW_EVERY_NS;
}

static void look_through_window(uint64_t cpu_ns) {
    uint64_t cost_ns =
        ll_arm.is_always_armed ? ll_window_always(WINDOW_EVERY_NS) : ll_window_pass();
    schedule.spent_ns += cost_ns;
    schedule.window_due_ns = cpu_ns + pause_after_window(cost_ns, cpu_ns);
}

// New places were read from the tables of plans, and their stubs ran for the first
// time.
static void let_tables_go(void) {
    uint32_t count = __atomic_load_n(&ll_arm.place_count, __ATOMIC_RELAXED);
    if (count != schedule.known_places) {
        ll_stubs_let_go(schedule.known_places + 1);
        schedule.known_places = count;
        ll_arm_let_tables_go();
    }
}

void ll_schedule_pass(void) {
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    __atomic_store_n(&ll_touch_tick, ll_tick_of_ns(cpu_ns), __ATOMIC_RELAXED);
    ll_lock_take(&ll_arm_lock);
    schedule.counts.passes++;
    measure_stamps();
    uint64_t now = time_stamp();
    earn(cpu_ns);
    take_over_ended(now);
    arm_due(now);
    let_tables_go();
    if (cpu_ns >= schedule.window_due_ns) {
        look_through_window(cpu_ns);
    }
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
}

void ll_schedule_fork_parent(void) {
    ll_schedule_let_go();
}

void ll_schedule_fork_child(void) {
    ll_lock_renew(&ll_arm_lock);
    awaiting = 0;
    if (ll_arm.is_poked) {
        ll_change_by_poking();
    }
    ll_own_thread_forget();
    finish_for_others();
    schedule.passed_cpu_ns = 0;
    schedule.window_due_ns = FIRST_WINDOW_NS;
    schedule.windows_ns = 0;
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
