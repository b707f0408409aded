// The levels of a walker: joining a walk to them, adding to them, and their nodes.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "stack/unwind.h"
#include "stack/walker.h"

// Whether walking outwards from the level would still give the levels outside of it.
// Forgets the levels that do not hold.
bool ll_level_holds(struct ll_walker* walker, uint32_t index);

LL_INLINE bool ll_level_is_frame(const struct ll_level* level, uint64_t sp, uint64_t pc,
                                 uint64_t rbp) {
    return level->sp == sp && level->pc == pc &&
           (!level->needs_rbp || level->rbp == rbp);
}

// Looks for the frame among the levels. True when it is one and holds; `walker->at` is
// then its index.
bool ll_levels_join(struct ll_walker* walker, const struct ll_frame* frame);

// Makes levels of the walk's frames, inside of level `walker->at` or, for
// LL_LEVELS_NONE, as the only ones. False when they cannot be remembered.
enum ll_levels_base { LL_LEVELS_NONE, LL_LEVELS_JOINED };
bool ll_levels_add_frames(struct ll_walker* walker, enum ll_levels_base base);

// The node of a level as the innermost frame.
uint32_t ll_level_node(struct ll_walker* walker, uint32_t index);

// The node of the walk's frames alone, without making levels of them.
uint32_t ll_frames_node(const struct ll_walker* walker);

// One step outwards by the frame's rule. Frames outside of a signal handler may lie on
// another stack than `bounds`.
enum ll_step ll_frame_caller(const struct ll_stack_reader* reader,
                             struct ll_frame* frame, struct ll_frame* caller,
                             uint16_t* reason);
