// Walks: from the caller of an entry function outwards, to a node of the trie.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"
#include "stack/unwind.h"
#include "stack/walker.h"

// Set last, when every table is there.
extern _Atomic bool ll_stack_is_started;

// Code was unloaded: levels of every thread are void.
void ll_frames_forget(void);

// Counts how often that happened.
extern _Atomic uint32_t ll_frames_epoch;

LL_INLINE bool ll_frames_are_current(const struct ll_walker* walker) {
    return walker->epoch ==
           atomic_load_explicit(&ll_frames_epoch, memory_order_relaxed);
}

// Forgets what is void.
LL_INLINE void ll_frames_refresh(struct ll_walker* walker) {
    if (LL_UNLIKELY(!ll_frames_are_current(walker))) {
        ll_walker_clear(walker);
        walker->epoch = atomic_load_explicit(&ll_frames_epoch, memory_order_relaxed);
    }
}

// The node of the stack from `caller` outwards; 0 when the trie is full.
uint32_t ll_frames_walk(struct ll_walker* walker, const struct ll_caller* caller);

// As ll_frames_walk for stacks with frames that are found only with registers which
// captures do not follow. Slow; begins in our own frames, where all registers are at
// hand.
uint32_t ll_frames_capture_fully(struct ll_walker* walker,
                                 const struct ll_caller* caller);

// Adds to the frames of the current walk. False when there is no room.
LL_INLINE bool ll_frame_keep(struct ll_walker* walker, struct ll_frame frame) {
    if (LL_UNLIKELY(walker->frame_count == walker->capacity) &&
        !ll_walker_grow(walker)) {
        return false;
    }
    walker->frames[walker->frame_count++] = frame;
    return true;
}

// Notes how the walk ended.
void ll_frames_set_outermost(struct ll_walker* walker, enum ll_step last,
                             uint16_t reason);
