// The touch word of a block: what is known of its use. It lies beside the block's own
// word, at a fixed distance.
//
//     63         42 41         22 21          0
//     | last tick   | use         | first tick |
//
// `use` is how it was touched last, as far as was seen (arm/uses.h). A block that was
// never seen to be touched has the use 0, and both ticks are that of its birth.
#pragma once
#include <stdint.h>

#include "base/attributes.h"

enum { LL_TOUCH_LAST_SHIFT = 42, LL_TOUCH_USE_SHIFT = 22 };
enum { LL_TOUCH_TICK_MAX = (1 << 22) - 1, LL_TOUCH_USE_MAX = (1 << 20) - 1 };

LL_INLINE uint64_t ll_touch_word(uint64_t last, uint32_t use, uint64_t first) {
    return last << LL_TOUCH_LAST_SHIFT | (uint64_t)use << LL_TOUCH_USE_SHIFT | first;
}

LL_INLINE uint64_t ll_touch_last(uint64_t word) {
    return word >> LL_TOUCH_LAST_SHIFT;
}

LL_INLINE uint32_t ll_touch_use(uint64_t word) {
    return (uint32_t)(word >> LL_TOUCH_USE_SHIFT) & LL_TOUCH_USE_MAX;
}

LL_INLINE uint64_t ll_touch_first(uint64_t word) {
    return word & LL_TOUCH_TICK_MAX;
}
