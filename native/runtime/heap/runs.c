// Bins of free runs: one per length up to 32 units, then four per doubling.
#include "heap/runs.h"

enum { EXACT_BINS = 32, EXACT_SHIFT = 5, CANDIDATES = 32 };

static unsigned bin_of(size_t count) {
    if (count <= EXACT_BINS) {
        return (unsigned)count - 1;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(count);
    return EXACT_BINS + (top - EXACT_SHIFT) * 4 + ((unsigned)(count >> (top - 2)) & 3);
}

void ll_runs_add(struct ll_runs* runs, struct ll_span* run) {
    unsigned bin = bin_of(run->unit_count);
    run->previous = NULL;
    run->next = runs->bins[bin];
    if (run->next != NULL) {
        run->next->previous = run;
    }
    runs->bins[bin] = run;
    runs->occupied[bin / 64] |= (uint64_t)1 << bin % 64;
    runs->unit_count += run->unit_count;
}

void ll_runs_remove(struct ll_runs* runs, struct ll_span* run) {
    unsigned bin = bin_of(run->unit_count);
    if (run->next != NULL) {
        run->next->previous = run->previous;
    }
    if (run->previous != NULL) {
        run->previous->next = run->next;
    } else {
        runs->bins[bin] = run->next;
    }
    if (runs->bins[bin] == NULL) {
        runs->occupied[bin / 64] &= ~((uint64_t)1 << bin % 64);
    }
    runs->unit_count -= run->unit_count;
}

// The shortest that is long enough among the first of the bin.
static struct ll_span* best_of_bin(struct ll_span* run, size_t count) {
    struct ll_span* best = NULL;
    for (int i = 0; run != NULL && i < CANDIDATES; i++, run = run->next) {
        if (run->unit_count >= count &&
            (best == NULL || run->unit_count < best->unit_count)) {
            best = run;
        }
    }
    return best;
}

static struct ll_span* first_from_bin(const struct ll_runs* runs, unsigned bin) {
    for (unsigned i = bin / 64; i < LL_RUN_BINS / 64; i++) {
        uint64_t bits = runs->occupied[i];
        if (i == bin / 64) {
            bits &= UINT64_MAX << bin % 64;
        }
        if (bits != 0) {
            return runs->bins[64 * i + (unsigned)__builtin_ctzll(bits)];
        }
    }
    return NULL;
}

struct ll_span* ll_runs_find(const struct ll_runs* runs, size_t count) {
    unsigned bin = bin_of(count);
    struct ll_span* best = best_of_bin(runs->bins[bin], count);
    return best != NULL || bin + 1 == LL_RUN_BINS ? best
                                                  : first_from_bin(runs, bin + 1);
}

struct ll_span* ll_runs_longest(const struct ll_runs* runs) {
    for (unsigned i = LL_RUN_BINS / 64; i-- > 0;) {
        if (runs->occupied[i] != 0) {
            unsigned bit = 63 - (unsigned)__builtin_clzll(runs->occupied[i]);
            return runs->bins[64 * i + bit];
        }
    }
    return NULL;
}
