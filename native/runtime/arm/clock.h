// The touch clock: CPU time of the process in ticks that fit into a touch word. A tick
// is 10 ms for the first 44 minutes, and twice as long after each doubling of that, so
// that years fit and the relative error stays below 1 in 250,000.
#pragma once
#include <stdint.h>

// How much more may be looked at that is neither armed nor disarmed. Filled up by the
// scheduler, so that this costs the same however much the program does.
extern uint32_t ll_looks_left;

// The current tick. It is never ahead of the true time, so a staleness computed from it
// is never too small. Written by the scheduler.
extern uint64_t ll_touch_tick;

uint64_t ll_tick_of_ns(uint64_t cpu_ns);

// When a tick began.
uint64_t ll_ns_of_tick(uint64_t tick);
