// Free runs of units in bins by length, to find one that fits. A free run of *zeroed*
// pages (never touched, or given back to the system) is kept apart from one of dirty
// pages, and only runs of one kind join.
#pragma once
#include "heap/span.h"

enum { LL_RUN_BINS = 128 };

struct ll_runs {
    struct ll_span* bins[LL_RUN_BINS];
    uint64_t occupied[LL_RUN_BINS / 64]; // bit per bin
    size_t unit_count;
};

void ll_runs_add(struct ll_runs* runs, struct ll_span* run);
void ll_runs_remove(struct ll_runs* runs, struct ll_span* run);

// A short run of at least `count` units; NULL when there is none. It stays in its bin.
struct ll_span* ll_runs_find(const struct ll_runs* runs, size_t count);

// The longest, or nearly; NULL when there is none.
struct ll_span* ll_runs_longest(const struct ll_runs* runs);
