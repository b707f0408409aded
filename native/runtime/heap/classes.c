// The table of size classes, made by the compiler.
#include "heap/classes.h"

// Larger classes take larger spans, so that one holds 15 blocks or more.
#define UNITS(size)                                                                    \
    ((size) <= 4112 ? 1u : (size) <= 8208 ? 2u : (size) <= 16400 ? 4u : 8u)

#define CLASS(size)                                                                    \
    {.block_size = (size),                                                             \
     .unit_count = UNITS(size),                                                        \
     .capacity = UNITS(size) * LL_UNIT_SIZE / (size),                                  \
     .reciprocal = UINT64_MAX / (size) + 1},

#define FOUR_CLASSES(first, step)                                                      \
    CLASS(first)                                                                       \
    CLASS((first) + (step)) CLASS((first) + 2 * (step)) CLASS((first) + 3 * (step))

#define EIGHT_CLASSES(first, step)                                                     \
    FOUR_CLASSES(first, step) FOUR_CLASSES((first) + 4 * (step), step)

// The classes above `base` up to its double, each with 16 bytes to spare.
#define STEPPED_DOUBLING(base) EIGHT_CLASSES((base) + (base) / 8 + 16, (base) / 8)
#define ALIGNED_DOUBLING(base) FOUR_CLASSES((base) + (base) / 4, (base) / 4)

const struct ll_class ll_classes[LL_CLASS_COUNT] = {
    EIGHT_CLASSES(16, 16) EIGHT_CLASSES(144, 16) CLASS(272)
    // From 256 to 32 KiB.
    STEPPED_DOUBLING(256) STEPPED_DOUBLING(512) STEPPED_DOUBLING(1024)
        STEPPED_DOUBLING(2048) STEPPED_DOUBLING(4096) STEPPED_DOUBLING(8192)
            STEPPED_DOUBLING(16384)
    // The same range for aligned requests.
    ALIGNED_DOUBLING(256) ALIGNED_DOUBLING(512) ALIGNED_DOUBLING(1024)
        ALIGNED_DOUBLING(2048) ALIGNED_DOUBLING(4096) ALIGNED_DOUBLING(8192)
            ALIGNED_DOUBLING(16384)};

uint8_t ll_class_of_size[LL_SMALL_MAX / 16 + 1];

void ll_classes_start(void) {
    uint8_t class = 0;
    for (uint32_t i = 0; i <= LL_SMALL_MAX / 16; i++) {
        if (ll_classes[class].block_size < 16 * i + 16) {
            class++;
        }
        ll_class_of_size[i] = class;
    }
}

unsigned ll_class_for_aligned(size_t size_bytes, size_t alignment) {
    unsigned best = LL_CLASS_COUNT;
    for (unsigned i = 0; i < LL_CLASS_COUNT; i++) {
        uint32_t size = ll_classes[i].block_size;
        if (size > size_bytes && size % alignment == 0 &&
            (best == LL_CLASS_COUNT || size < ll_classes[best].block_size)) {
            best = i;
        }
    }
    return best;
}
