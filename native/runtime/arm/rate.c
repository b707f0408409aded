#include "arm/rate.h"

#include <stdbool.h>

enum {
    PPM = 1000000,
    // No site sleeps longer, whatever its rate: what it alone touches would look stale.
    SLEEP_MAX_NS = 1000000000,
    HOT_TOUCH_NS = 50, // sites touched more often than this get longer bursts
    HOT_FACTOR = 10,
};

static uint64_t within(uint64_t least, uint64_t value, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

struct ll_rate ll_rate_of(uint64_t burst, uint64_t decrease, uint64_t sampling_ppm) {
    return (struct ll_rate){
        .burst = (uint32_t)within(1, burst, UINT16_MAX / HOT_FACTOR),
        .decrease = within(2, decrease, PPM),
        .thinnest = PPM / within(1, sampling_ppm, PPM),
    };
}

uint64_t ll_rate_thinning(const struct ll_rate* rate, unsigned level) {
    uint64_t result = 1;
    for (unsigned i = 0; i < level && result < rate->thinnest; i++) {
        result *= rate->decrease;
    }
    return result < rate->thinnest ? result : rate->thinnest;
}

// Half of what the rate says to one and a half times.
uint64_t ll_rate_sleep_ns(const struct ll_rate* rate, struct ll_burst burst,
                          uint32_t chance) {
    uint64_t thinning = ll_rate_thinning(rate, burst.level);
    uint64_t sleep_ns = burst.length_ns > SLEEP_MAX_NS / thinning
                            ? SLEEP_MAX_NS
                            : burst.length_ns * (thinning - 1);
    return sleep_ns * (LL_CHANCE_MAX / 2 + 1 + chance) / (LL_CHANCE_MAX + 1);
}

uint16_t ll_rate_next_burst(const struct ll_rate* rate, struct ll_burst burst) {
    bool is_hot = burst.level > 1 && burst.length_ns / burst.touches < HOT_TOUCH_NS;
    return (uint16_t)(rate->burst * (is_hot ? HOT_FACTOR : 1));
}
