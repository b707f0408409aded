// Injected leaks, to measure how well leaks are found: a seeded share of all frees, of
// blocks within a range of sizes, does not happen, and every one of them is recorded.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// What has to be known of a free before it happens: bits of `ll_releases_watched`.
enum {
    LL_RELEASES_STAMPED = 1,
    LL_RELEASES_SKIPPED = 2,
    LL_RELEASES_DELAYED = 4,
    LL_RELEASES_CLEARED = 8,
    LL_RELEASES_NUMBERED = 16,
};
extern uint8_t ll_releases_watched;

// Reads the options. Before the program's first instruction.
void ll_injector_start(void);

// True when the block is not to be freed; `site` is the stack that frees. A pure
// function of the seed, the thread's number and how many frees it has made.
bool ll_injector_skips(void* block, uint32_t site);

// Writes all frees that were skipped so far. For a look.
void ll_injector_write(void);
