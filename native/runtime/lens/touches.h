// Lens `accesses`: what is known of the last use of each block (layout: arm/touch.h).
// Stubs write most touch words; these functions write births and read them all.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arm/clock.h"
#include "arm/touch.h"
#include "heap/inspect.h"

// True while touches are noted. Fixed before the program's first instruction.
extern bool ll_touches_on;

// From now on touches are noted, together with their call stacks. Once.
void ll_touches_start(void);

// The kernel is about to touch memory for a call of the program, whose stack is `site`.
void ll_touch_by_kernel(uintptr_t start, uint32_t site);

// True when the kernel's touch is news: nobody noted one to the same block just now.
bool ll_touch_by_kernel_is_wanted(uintptr_t start);

// A block with this word is born: no touch of those that lay there before counts.
LL_INLINE void ll_touch_birth_at(uint64_t* word) {
    uint64_t tick = __atomic_load_n(&ll_touch_tick, __ATOMIC_RELAXED);
    __atomic_store_n(ll_word_twin(word), ll_touch_word(tick, 0, tick),
                     __ATOMIC_RELAXED);
}

LL_INLINE void ll_touch_birth(const void* start) {
    struct ll_block block;
    if (ll_block_locate((uintptr_t)start, &block)) {
        ll_touch_birth_at(&block.span->words[block.index]);
    }
}

struct ll_touch {
    uint64_t first_ns; // CPU time of the process; of the birth if never touched
    uint64_t last_ns;
    uint32_t windows; // of full arming through which it was idle since then
    uint32_t use;     // the last one, 0 if none is known
};

struct ll_touch ll_touch_of(struct ll_block block);
