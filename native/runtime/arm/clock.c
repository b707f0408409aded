#include "arm/clock.h"

#include "arm/touch.h"

enum { STRETCH_TICKS = 1 << 18, TICK_NS = 10000000 };

uint64_t ll_touch_tick;
uint32_t ll_looks_left;

uint64_t ll_tick_of_ns(uint64_t cpu_ns) {
    uint64_t tick_ns = TICK_NS;
    uint64_t before = 0;
    while (cpu_ns / tick_ns >= STRETCH_TICKS) {
        cpu_ns -= STRETCH_TICKS * tick_ns;
        before += STRETCH_TICKS;
        tick_ns *= 2;
    }
    uint64_t tick = before + cpu_ns / tick_ns;
    return tick > LL_TOUCH_TICK_MAX ? LL_TOUCH_TICK_MAX : tick;
}

uint64_t ll_ns_of_tick(uint64_t tick) {
    uint64_t tick_ns = TICK_NS;
    uint64_t cpu_ns = 0;
    while (tick >= STRETCH_TICKS) {
        cpu_ns += STRETCH_TICKS * tick_ns;
        tick -= STRETCH_TICKS;
        tick_ns *= 2;
    }
    return cpu_ns + tick * tick_ns;
}
