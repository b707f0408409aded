#include "lens/ordinals.h"

#include <stddef.h>

#include "heap/inspect.h"
#include "os/memory.h"
#include "stack/stack.h"

// Call stacks beyond this many are not counted; pages appear when touched.
enum { SITES_MAX = 1 << 24 };

bool ll_ordinals_on;

static uint32_t* counts;
static ll_birth_follower* follow_birth;
static ll_freed_follower* follow_freed;

bool ll_ordinals_start(void) {
    counts = ll_memory_map(SITES_MAX * sizeof *counts);
    ll_ordinals_on = counts != NULL;
    ll_stack_keep_nodes();
    return ll_ordinals_on;
}

uint32_t ll_ordinals_next(uintptr_t block) {
    struct ll_block found;
    if (!ll_block_at(block, &found) || ll_block_site(found) >= SITES_MAX) {
        return 0;
    }
    uint32_t site = ll_block_site(found);
    uint32_t ordinal = __atomic_add_fetch(&counts[site], 1, __ATOMIC_RELAXED);
    if (follow_birth != NULL) {
        follow_birth(block, site, ordinal);
    }
    return ordinal;
}

void ll_ordinals_freed(uintptr_t block) {
    if (follow_freed != NULL) {
        follow_freed(block);
    }
}

void ll_ordinals_follow(ll_birth_follower* birth, ll_freed_follower* freed) {
    follow_birth = birth;
    follow_freed = freed;
}
