// How often sites are armed, and what that may cost: the arithmetic of lens `accesses`
// that needs no clock.
#include "arm/budget.h"
#include "arm/clock.h"
#include "arm/rate.h"
#include "arm/window.h"
#include "check.h"

static const struct ll_rate paper = {.burst = 10, .decrease = 10, .thinnest = 1000};

static void test_options_without_sense_are_bounded(void) {
    struct ll_rate least = ll_rate_of(0, 0, 0);
    CHECK(least.burst == 1 && least.decrease == 2 && least.thinnest == 1000000);
    struct ll_rate most = ll_rate_of(UINT64_MAX, UINT64_MAX, UINT64_MAX);
    CHECK(most.burst <= UINT16_MAX / 10 && most.thinnest == 1);
    CHECK(ll_rate_of(10, 10, 1000).thinnest == paper.thinnest);
}

static void test_each_burst_makes_the_next_rarer_down_to_the_least(void) {
    static const uint64_t expected[] = {1, 10, 100, 1000, 1000, 1000};
    for (unsigned level = 0; level < 6; level++) {
        CHECK(ll_rate_thinning(&paper, level) == expected[level]);
    }
    CHECK(ll_rate_thinning(&paper, 1000) == 1000);
}

static void test_the_share_of_touches_in_bursts_is_that_of_the_rate(void) {
    for (unsigned level = 1; level <= 5; level++) {
        struct ll_burst burst = {.level = level, .touches = 10, .length_ns = 1000};
        uint64_t slept_ns = 0;
        for (uint32_t chance = 0; chance <= LL_CHANCE_MAX; chance++) {
            slept_ns += ll_rate_sleep_ns(&paper, burst, chance);
        }
        uint64_t mean_ns = slept_ns / (LL_CHANCE_MAX + 1);
        uint64_t expected_ns = 1000 * (ll_rate_thinning(&paper, level) - 1);
        CHECK(mean_ns > expected_ns * 99 / 100 && mean_ns < expected_ns * 101 / 100);
    }
}

static void test_no_site_sleeps_for_long(void) {
    for (uint64_t length_ns = 1; length_ns < (uint64_t)1 << 60; length_ns *= 3) {
        struct ll_burst burst = {.level = 4, .touches = 10, .length_ns = length_ns};
        CHECK(ll_rate_sleep_ns(&paper, burst, LL_CHANCE_MAX) <= 1500000000);
    }
}

static void test_only_hot_sites_get_longer_bursts(void) {
    struct ll_burst hot = {.level = 2, .touches = 10, .length_ns = 100};
    struct ll_burst slow = {.level = 2, .touches = 10, .length_ns = 100000};
    struct ll_burst first = {.level = 1, .touches = 10, .length_ns = 100};
    CHECK(ll_rate_next_burst(&paper, hot) == 100);
    CHECK(ll_rate_next_burst(&paper, slow) == 10);
    CHECK(ll_rate_next_burst(&paper, first) == 10);
}

// Runs the controller for a second of CPU time with sites that are always due, each of
// which costs what is measured and 3 us; returns what was spent.
static uint64_t spend_for_a_second(struct ll_budget* budget, uint64_t cost_ns) {
    const uint64_t pass_ns = 10000000;
    uint64_t spent_ns = 0;
    for (int pass = 0; pass < 100; pass++) {
        uint64_t armed = 0;
        ll_budget_earn(budget, pass_ns, 0);
        while (ll_budget_allows_burst(budget)) {
            ll_budget_pay_burst(budget);
            armed++;
        }
        ll_budget_learn(budget, armed * cost_ns / 2, armed);
        spent_ns += armed * (cost_ns + 3000);
    }
    return spent_ns;
}

// A quarter of the budget is for bursts: half a per cent of a second are 5 ms.
static void test_bursts_take_their_quarter_of_the_budget_whatever_they_cost(void) {
    static const uint64_t costs_ns[] = {600, 1500, 4000, 600, 9000};
    struct ll_budget budget;
    ll_budget_start(&budget, 20000);
    for (unsigned i = 0; i < 5; i++) {
        spend_for_a_second(&budget, costs_ns[i]);
        uint64_t spent_ns = spend_for_a_second(&budget, costs_ns[i]);
        CHECK(spent_ns > 3000000 && spent_ns < 6000000);
    }
}

static void test_a_larger_budget_buys_more(void) {
    struct ll_budget small;
    struct ll_budget large;
    ll_budget_start(&small, 20000);
    ll_budget_start(&large, 100000);
    uint64_t spent_ns = spend_for_a_second(&small, 1500);
    CHECK(spend_for_a_second(&large, 1500) > 4 * spent_ns);
}

static void test_the_first_turns_of_all_code_are_not_paid_back_for_long(void) {
    struct ll_budget budget;
    ll_budget_start(&budget, 20000);
    ll_budget_earn(&budget, 10000000, 500000000);
    CHECK(!ll_budget_allows_burst(&budget));
    ll_budget_earn(&budget, 250000000, 0);
    CHECK(ll_budget_allows_burst(&budget));
}

// How many there are in the first 100 s of CPU time.
static uint64_t count_windows(uint64_t ppm, uint64_t window_ns) {
    const uint64_t end_ns = 100000000000;
    struct ll_budget budget;
    ll_budget_start(&budget, ppm);
    uint64_t cpu_ns = 200000000;
    uint64_t windows = 0;
    while (cpu_ns < end_ns) {
        windows++;
        cpu_ns += ll_budget_pause_ns(&budget, window_ns, cpu_ns);
    }
    return windows;
}

static void test_windows_take_their_half_of_the_budget_in_a_long_run(void) {
    uint64_t windows = count_windows(20000, 20000000);
    CHECK(windows >= 48 && windows <= 60);
}

static void test_there_are_no_more_cheap_windows_than_are_needed(void) {
    uint64_t windows = count_windows(20000, 2000000);
    CHECK(windows >= 98 && windows <= 115);
    CHECK(count_windows(100000, 2000000) >= 3 * windows);
}

// A window takes 8 ms where the machine is quiet, three times as long where the
// scheduler wakes up late.
static void check_windows_of_a_short_run(uint64_t window_ns) {
    struct ll_budget budget;
    ll_budget_start(&budget, 20000);
    uint64_t cpu_ns = 200000000;
    while (cpu_ns < 10000000000) {
        uint64_t pause_ns = ll_budget_pause_ns(&budget, window_ns, cpu_ns);
        CHECK(cpu_ns < 600000000 || pause_ns <= cpu_ns * 45 / 100);
        cpu_ns += pause_ns;
        CHECK(budget.windows_ns <= cpu_ns / 10);
    }
}

static void test_what_is_idle_for_a_third_of_a_short_run_meets_a_window(void) {
    check_windows_of_a_short_run(8000000);
    check_windows_of_a_short_run(24000000);
}

// The latest 4,096 are known one by one.
static void test_windows_since_a_touch_are_counted_however_many_there_were(void) {
    for (uint32_t windows = 1; windows <= 10000; windows++) {
        ll_touch_tick = 3 * windows;
        ll_window_always(1);
        CHECK(ll_windows_since(ll_touch_tick) == 0);
        CHECK(ll_windows_since(ll_touch_tick - 1) == 1);
        CHECK(ll_windows_since(ll_touch_tick - 3) == 1);
        CHECK(ll_windows_since(0) == (windows < 4096 ? windows : 4096));
    }
    CHECK(ll_windows_since(3 * 9000) == 1000);
    ll_windows_forget();
    CHECK(ll_windows_since(0) == 0);
}

int main(void) {
    test_options_without_sense_are_bounded();
    test_each_burst_makes_the_next_rarer_down_to_the_least();
    test_the_share_of_touches_in_bursts_is_that_of_the_rate();
    test_no_site_sleeps_for_long();
    test_only_hot_sites_get_longer_bursts();
    test_bursts_take_their_quarter_of_the_budget_whatever_they_cost();
    test_a_larger_budget_buys_more();
    test_the_first_turns_of_all_code_are_not_paid_back_for_long();
    test_windows_take_their_half_of_the_budget_in_a_long_run();
    test_there_are_no_more_cheap_windows_than_are_needed();
    test_what_is_idle_for_a_third_of_a_short_run_meets_a_window();
    test_windows_since_a_touch_are_counted_however_many_there_were();
    return failures != 0;
}
