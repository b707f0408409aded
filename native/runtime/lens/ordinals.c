#include "lens/ordinals.h"

#include <stddef.h>

#include "heap/inspect.h"
#include "lens/injector.h"
#include "os/memory.h"
#include "stack/stack.h"

// Call stacks beyond this many are not counted; pages appear when touched.
enum { SITES_MAX = 1 << 24 };

// Blocks begin at multiples of 16; one number each, and pages appear when touched.
enum { GRANULE = 16 };
static const size_t numbers_bytes = ((size_t)1 << 40) / GRANULE * sizeof(uint32_t);

bool ll_ordinals_on;

static uint32_t* counts;
static uint32_t* numbers; // by granule of the heap
static ll_birth_follower* follow_birth;
static ll_freed_follower* follow_freed;
static ll_loss_follower* follow_loss;

bool ll_ordinals_start(void) {
    counts = ll_memory_map(SITES_MAX * sizeof *counts);
    numbers = ll_memory_map_sparse(numbers_bytes);
    ll_ordinals_on = counts != NULL && numbers != NULL;
    ll_releases_watched |= ll_ordinals_on ? LL_RELEASES_NUMBERED : 0;
    ll_stack_keep_nodes();
    return ll_ordinals_on;
}

static uint32_t* number_of(uintptr_t block) {
    return &numbers[(block - ll_range.start) / GRANULE];
}

void ll_ordinals_born(uintptr_t block) {
    struct ll_block found;
    *number_of(block) = 0;
    if (!ll_block_at(block, &found) || ll_block_site(found) >= SITES_MAX) {
        return;
    }
    uint32_t site = ll_block_site(found);
    uint32_t ordinal = __atomic_add_fetch(&counts[site], 1, __ATOMIC_RELAXED);
    *number_of(block) = ordinal;
    if (follow_birth != NULL) {
        follow_birth(block, site, ordinal);
    }
}

uint32_t ll_ordinal_of(uintptr_t block) {
    return *number_of(block);
}

void ll_ordinals_freed(uintptr_t block) {
    if (follow_freed != NULL) {
        follow_freed(block);
    }
}

void ll_ordinals_lost(uintptr_t pointer, uint32_t site) {
    if (follow_loss != NULL) {
        follow_loss(pointer, site);
    }
}

void ll_ordinals_follow(ll_birth_follower* birth, ll_freed_follower* freed,
                        ll_loss_follower* loss) {
    follow_birth = birth;
    follow_freed = freed;
    follow_loss = loss;
}
