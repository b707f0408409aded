// What lens `accesses` may cost: a share of the CPU time of the process, half of it for
// windows and a quarter for bursts. Bursts are paid from a credit that grows as the
// program runs; after a window the program is left alone until the window is paid for.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct ll_budget {
    uint64_t ppm;        // of CPU time, in millionths
    int64_t credit_ns;   // that may still be spent on bursts
    uint64_t burst_ns;   // cost of arming and disarming one site
    uint64_t arming_ns;  // what arming took that burst_ns does not tell yet
    uint64_t armed;      // sites meanwhile
    uint64_t windows_ns; // that all windows cost
};

void ll_budget_start(struct ll_budget* budget, uint64_t ppm);

// The process ran for a while, and meanwhile slow paths of its touches took some time.
void ll_budget_earn(struct ll_budget* budget, uint64_t ran_ns, uint64_t turns_ns);

// True when one more site may be armed.
bool ll_budget_allows_burst(const struct ll_budget* budget);
void ll_budget_pay_burst(struct ll_budget* budget);

// Arming so many sites took so long.
void ll_budget_learn(struct ll_budget* budget, uint64_t spent_ns, uint64_t armed);

// How long the program runs before the next window, by its CPU time so far.
uint64_t ll_budget_pause_ns(struct ll_budget* budget, uint64_t window_ns,
                            uint64_t cpu_ns);
