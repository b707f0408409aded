// Time is the processor's counter, whose speed is known well enough: some 10^9 a
// second.
#include "heap/thrift.h"

#include <stdint.h>

enum {
    ALWAYS_KEPT_UNITS = 256,
    KEPT_SHARE_OF_USED = 4, // a quarter
    REGRETTED_UNITS_MAX = 2048,
    // Longer runs are large blocks: faults are the smaller part of what they cost.
    LONG_RUN_UNITS = 512,
};

static const uint64_t soon_ticks = (uint64_t)1 << 32;
static const uint64_t long_ticks = (uint64_t)1 << 33;

static size_t purged_units;    // and not taken again
static size_t regretted_units; // purged and taken again soon
static uint64_t purged_at;
static uint64_t regretted_at;

static uint64_t ticks_since(uint64_t time) {
    return __builtin_ia32_rdtsc() - time;
}

size_t ll_thrift_kept_units(size_t used_units) {
    if (regretted_units > 0 && ticks_since(regretted_at) > long_ticks) {
        regretted_units /= 2;
        regretted_at = __builtin_ia32_rdtsc();
    }
    return ALWAYS_KEPT_UNITS + used_units / KEPT_SHARE_OF_USED + regretted_units;
}

void ll_thrift_note_purged(size_t unit_count) {
    purged_units += unit_count;
    purged_at = __builtin_ia32_rdtsc();
}

void ll_thrift_note_taken(size_t unit_count) {
    if (purged_units == 0) {
        return;
    }
    size_t again = unit_count < purged_units ? unit_count : purged_units;
    purged_units -= again;
    if (unit_count < LONG_RUN_UNITS && ticks_since(purged_at) < soon_ticks) {
        regretted_units += again;
        regretted_at = __builtin_ia32_rdtsc();
    }
    if (regretted_units > REGRETTED_UNITS_MAX) {
        regretted_units = REGRETTED_UNITS_MAX;
    }
}

void ll_thrift_forget(void) {
    purged_units = 0;
    regretted_units = 0;
}
