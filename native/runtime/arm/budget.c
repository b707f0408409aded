#include "arm/budget.h"

enum {
    PPM = 1000000,
    // Of the budget, one part in so many. The rest is for what this lens costs all the
    // time: the touch word of each block that is born, and its pages.
    WINDOWS_SHARE = 2,
    BURSTS_SHARE = 4,
    WINDOW_EVERY_NS = 250000000, // at the most often
    BURST_FIRST_NS = 4000,       // until it is measured
    BURST_MOST_NS = 100 * BURST_FIRST_NS,
    // Neither is saved for long, nor paid back: all code has its first turns at once.
    CREDIT_MOST_NS = 1000000,
};

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void ll_budget_start(struct ll_budget* budget, uint64_t ppm) {
    *budget = (struct ll_budget){
        .ppm = ppm < 1     ? 1
               : ppm > PPM ? PPM
                           : ppm,
        .burst_ns = BURST_FIRST_NS,
    };
}

void ll_budget_earn(struct ll_budget* budget, uint64_t ran_ns, uint64_t turns_ns) {
    budget->credit_ns += (int64_t)(ran_ns * budget->ppm / PPM / BURSTS_SHARE);
    budget->credit_ns -= (int64_t)turns_ns;
    if (budget->credit_ns > CREDIT_MOST_NS) {
        budget->credit_ns = CREDIT_MOST_NS;
    } else if (budget->credit_ns < -CREDIT_MOST_NS) {
        budget->credit_ns = -CREDIT_MOST_NS;
    }
}

bool ll_budget_allows_burst(const struct ll_budget* budget) {
    return budget->credit_ns > 0;
}

void ll_budget_pay_burst(struct ll_budget* budget) {
    budget->credit_ns -= (int64_t)budget->burst_ns;
}

// What arming costs the scheduler the program pays again when the site disarms itself.
// The rest cannot be measured while it happens: touches, and that the processor throws
// away what it knew of code that is changed. Runs with and without bursts showed it.
void ll_budget_learn(struct ll_budget* budget, uint64_t spent_ns, uint64_t armed) {
    enum { PAYERS = 2, SMOOTHING = 8, REST_NS = 3000 };
    if (armed != 0) {
        budget->arming_ns += spent_ns;
        budget->armed += armed;
    }
    if (budget->armed < SMOOTHING) {
        return;
    }
    uint64_t measured_ns = budget->arming_ns / budget->armed * PAYERS + REST_NS;
    budget->arming_ns = 0;
    budget->armed = 0;
    budget->burst_ns = (budget->burst_ns * (SMOOTHING - 1) + measured_ns) / SMOOTHING;
    if (budget->burst_ns > BURST_MOST_NS) {
        budget->burst_ns = BURST_MOST_NS;
    }
}

// With the usual budget one window in each second will do, and a fifth of the time so
// far in shorter runs: where windows are cheap, not all of the budget is spent.
static uint64_t soon_enough_ns(const struct ll_budget* budget, uint64_t cpu_ns) {
    const uint64_t second_ns = 1000000000;
    enum { USUAL_PPM = 20000, SHARE = 5 };
    uint64_t in_long_runs_ns = second_ns * USUAL_PPM / budget->ppm;
    uint64_t in_short_runs_ns = cpu_ns / SHARE;
    return in_short_runs_ns < in_long_runs_ns ? in_short_runs_ns : in_long_runs_ns;
}

// When the budget has paid for the window. But what was idle for a third of the run
// should have met one, also in a short run on a busy machine, where the scheduler wakes
// up late and windows are long: then the budget is paid back later.
uint64_t ll_budget_pause_ns(struct ll_budget* budget, uint64_t window_ns,
                            uint64_t cpu_ns) {
    enum { ADVANCE_SHARE = 10 }; // of all CPU time, one part in so many
    budget->windows_ns += window_ns;
    uint64_t paid_ns = window_ns * WINDOWS_SHARE * PPM / budget->ppm;
    uint64_t affordable_ns = budget->windows_ns * ADVANCE_SHARE;
    uint64_t soonest_ns = affordable_ns > cpu_ns ? affordable_ns - cpu_ns : 0;
    soonest_ns = larger(soonest_ns, cpu_ns * 2 / 5);
    uint64_t pause_ns = paid_ns < soonest_ns ? paid_ns : soonest_ns;
    return larger(larger(pause_ns, soon_enough_ns(budget, cpu_ns)), WINDOW_EVERY_NS);
}
