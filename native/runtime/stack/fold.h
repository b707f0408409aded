// Which frames of a deep stack are kept. Of a stack deeper than the wanted depth the
// outermost quarter stays and the innermost frames up to that depth; the *fold* stands
// for those between. Its inner end moves in steps of a quarter, so that the stacks of a
// deep recursion share most of their nodes.
#pragma once
#include <stdint.h>

#include "base/attributes.h"

struct ll_fold {
    uint32_t depth; // frames kept
    uint32_t outer; // of these, outermost ones
    uint32_t step;
};

extern struct ll_fold ll_fold;

void ll_fold_set_depth(unsigned depth);

// Of a stack of `count` frames, the index (outermost is 0) of the first one inside the
// fold; 0 when all are kept.
LL_INLINE uint32_t ll_fold_end(uint32_t count) {
    if (LL_LIKELY(count <= ll_fold.depth)) {
        return 0;
    }
    uint32_t first = count - (ll_fold.depth - ll_fold.outer);
    return (first + ll_fold.step - 1) / ll_fold.step * ll_fold.step;
}

// The smallest number of frames whose fold ends at `end`.
LL_INLINE uint32_t ll_fold_shortest(uint32_t end) {
    uint32_t shortest = end - ll_fold.step + 1 + (ll_fold.depth - ll_fold.outer);
    return shortest > ll_fold.depth ? shortest : ll_fold.depth + 1;
}
