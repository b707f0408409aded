// Captures: from the caller of an entry function to a node of the trie.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"
#include "stack/unwind.h"
#include "stack/walker.h"

// Code was unloaded: levels of every thread are void.
void ll_frames_forget(void);

// The node of the stack from `caller` outwards; 0 when the trie is full.
uint32_t ll_frames_capture(struct ll_walker* walker, const struct ll_caller* caller);

// The same; of a caller that handed a context over and is in a recursion, it may be
// that of another depth.
uint32_t ll_frames_capture_any_depth(struct ll_walker* walker,
                                     const struct ll_caller* caller);

// As ll_frames_capture if the last walks tell it, else 0.
uint32_t ll_frames_recall(struct ll_walker* walker, const struct ll_caller* caller);

// As ll_frames_capture for stacks with frames that are found only with registers which
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
