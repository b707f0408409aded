// The size classes of small blocks. A class is a block size; a request takes the first
// class that has room for one byte more than it asks for, so that a pointer just past
// the end stays inside the block. Classes are 32 bytes above the round numbers that
// programs like to ask for. A second ladder of rounder sizes serves aligned requests.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum {
    LL_UNIT_SHIFT = 16,
    LL_UNIT_SIZE = 1 << LL_UNIT_SHIFT,

    LL_STEPPED_CLASS_COUNT = 73, // 16 .. 256 in steps of 16, 288, then 8 per doubling
    LL_ALIGNED_CLASS_COUNT = 28, // 4 per doubling
    LL_CLASS_COUNT = LL_STEPPED_CLASS_COUNT + LL_ALIGNED_CLASS_COUNT,

    LL_SMALL_MAX = 32799, // largest request that a class serves

    LL_CLASS_VEILED = LL_CLASS_COUNT, // no class: see ll_classes_veil
};

struct ll_class {
    uint32_t block_size;
    uint32_t unit_count; // of a span
    uint32_t capacity;   // blocks of a span
    // 2^64 / block_size, rounded up: the high half of its product with an offset into
    // the span is the block's index, and the low half is less than it exactly at the
    // start of a block.
    uint64_t reciprocal;
};

extern const struct ll_class ll_classes[LL_CLASS_COUNT];

// The class of a request of 16 * i to 16 * i + 15 bytes, filled by ll_classes_start.
extern uint8_t ll_class_of_size[LL_SMALL_MAX / 16 + 1];

void ll_classes_start(void);

// From now on ll_class_for gives LL_CLASS_VEILED for every size, so that no allocation
// takes the quickest way; ll_class_behind_veil always gives the class.
void ll_classes_veil(void);
unsigned ll_class_behind_veil(size_t size_bytes);

LL_INLINE unsigned ll_class_for(size_t size_bytes) {
    return ll_class_of_size[size_bytes / 16];
}

// The smallest class whose blocks all have that alignment (a power of two above 16);
// LL_CLASS_COUNT when none has.
unsigned ll_class_for_aligned(size_t size_bytes, size_t alignment);
