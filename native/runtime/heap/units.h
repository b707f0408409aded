// The units of the heap's range: how it grows, which runs of it are free, and when
// their pages go back to the system. One lock guards all of it and the span headers; it
// is taken masked, since a signal handler may allocate. Except where said otherwise the
// functions want it held.
#pragma once
#include "heap/span.h"
#include "os/lock.h"

extern struct ll_lock ll_units_lock;

bool ll_units_start(void);

enum ll_pages { LL_PAGES_ANY, LL_PAGES_ZEROED };

// A run of units, taken out of the pool of free runs or from where the range ends.
struct ll_run {
    uintptr_t start;
    bool zeroed;
};

// `alignment` in units, a power of two. `wish` is met when it costs nothing. False when
// memory ran out.
bool ll_units_take(size_t count, size_t alignment, enum ll_pages wish,
                   struct ll_run* run);

// Whether so many units are to be had that already take memory.
bool ll_units_has_dirty(size_t count);

// Takes the units that follow a run, if they are free or can be had.
bool ll_units_take_following(uintptr_t end, size_t count);

void ll_units_give(uintptr_t start, size_t count, enum ll_pages pages);

// Lets all units of the span lead to it.
void ll_units_bind(struct ll_span* span);

// Returns all unused pages to the system; true when there were any.
bool ll_units_purge(void);

// Lets the range end where its last span does, so that the tables can grow instead,
// when address space is limited. True when that made a difference.
bool ll_units_give_up_space(void);

struct ll_units_totals {
    size_t used;      // units in spans now
    size_t peak;      // most units in spans at one time
    size_t committed; // units of the range
};
struct ll_units_totals ll_units_totals(void); // takes no lock
