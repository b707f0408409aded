// Whether so many blocks of a context are alive at one time. Frees are not told, so
// blocks that may be alive are listed and asked about again when there are enough of
// them. A context of many short lives is asked about some of its blocks only.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/lock.h"

// All zeros to begin with.
struct ll_candidates {
    struct ll_lock lock; // never waited for
    uint32_t born;       // blocks so far
    uint32_t count;      // blocks listed
    uint32_t ask_at;     // so many listed: ask which of them are alive
    uint32_t phase;      // LL_CANDIDATES_*
    void** places;       // hashed by address; NULL: none yet
};

enum {
    LL_CANDIDATES_NONE, // too few were born yet
    LL_CANDIDATES_FEW,  // the list is short: most contexts need no longer one
    LL_CANDIDATES_ALL,
    LL_CANDIDATES_SOME, // the list has every LL_CANDIDATES_EVERYth block only
    LL_CANDIDATES_PHASES,
    LL_CANDIDATES_EVERY = 8,
};

// Takes address space for the lists; `live_blocks` is how many have to be alive. False
// when there is none.
bool ll_candidates_start(unsigned live_blocks);

// Whether a block is alive and of the context.
typedef bool ll_candidate_test(const void* context, void* block);

// A block was born. True when enough of them live: the list is given back then.
bool ll_candidates_born(struct ll_candidates* candidates, void* block,
                        const void* context, ll_candidate_test* is_alive);
