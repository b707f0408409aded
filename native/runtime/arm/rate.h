// How often one site is armed: the adaptive schedule. After each burst a site is armed
// more seldom, down to a least share of its executions.
#pragma once
#include <stdint.h>

struct ll_rate {
    uint32_t burst;    // touches of a burst
    uint64_t decrease; // by how much a site is armed more seldom after each burst
    uint64_t thinnest; // executions per sampled one at the least frequent
};

// What the options say, as far as it makes sense.
struct ll_rate ll_rate_of(uint64_t burst, uint64_t decrease, uint64_t sampling_ppm);

// Executions per sampled one, after so many bursts: 1, 10, 100 ... up to the thinnest.
uint64_t ll_rate_thinning(const struct ll_rate* rate, unsigned level);

// A burst that has ended.
struct ll_burst {
    unsigned level; // how many there were of the site, with this one
    uint32_t touches;
    uint64_t length_ns; // from its first to its last touch
};

// How long the site then sleeps, and the touches of its next burst. `chance` is drawn
// from 0 to LL_CHANCE_MAX: sites are not to march in step with the program.
enum { LL_CHANCE_MAX = 1023 };
uint64_t ll_rate_sleep_ns(const struct ll_rate* rate, struct ll_burst burst,
                          uint32_t chance);
uint16_t ll_rate_next_burst(const struct ll_rate* rate, struct ll_burst burst);
