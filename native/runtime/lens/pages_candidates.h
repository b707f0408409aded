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
    uint32_t wanted;     // so many alive: go on with a longer list, or there are enough
    bool is_sampled;     // the list has every LL_CANDIDATES_EVERYth block only
    uint32_t* places;    // hashed by address; NULL: none yet, or there were enough
};

enum {
    LL_CANDIDATES_FIRST = 4, // births before the first that is listed
    LL_CANDIDATES_EVERY = 8,
};

// Takes address space for the lists; `live_blocks` is how many have to be alive. False
// when there is none.
bool ll_candidates_start(unsigned live_blocks);

// Whether a block is alive and of the context.
typedef bool ll_candidate_test(const void* context, void* block);

// A block was born. True when it is to be listed. The count need not be exact.
LL_INLINE bool ll_candidates_count_birth(struct ll_candidates* candidates) {
    uint32_t born = __atomic_load_n(&candidates->born, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&candidates->born, born, __ATOMIC_RELAXED);
    return LL_LIKELY(__atomic_load_n(&candidates->is_sampled, __ATOMIC_RELAXED))
               ? born % LL_CANDIDATES_EVERY == 0
               : born > LL_CANDIDATES_FIRST;
}

// Lists such a block. True when enough of them live: the list is given back then.
bool ll_candidates_list(struct ll_candidates* candidates, void* block,
                        const void* context, ll_candidate_test* is_alive);
