// The table of size classes, made by the compiler.
#include "heap/classes.h"

#include <stdbool.h>
#include <string.h>

#include "heap/heap.h"

enum { ALIGNED_MAX = 32768 };

// Larger classes take larger spans, so that one holds 15 blocks or more.
#define UNITS(size)                                                                    \
    ((size) <= 4128 ? 1u : (size) <= 8224 ? 2u : (size) <= 16416 ? 4u : 8u)

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

// The classes above `base` up to its double, each with 32 bytes to spare.
#define STEPPED_DOUBLING(base) EIGHT_CLASSES((base) + (base) / 8 + 32, (base) / 8)
#define ALIGNED_DOUBLING(base) FOUR_CLASSES((base) + (base) / 4, (base) / 4)

const struct ll_class ll_classes[LL_CLASS_COUNT] = {
    EIGHT_CLASSES(16, 16) EIGHT_CLASSES(144, 16) CLASS(288)
    // From 256 to 32 KiB.
    STEPPED_DOUBLING(256) STEPPED_DOUBLING(512) STEPPED_DOUBLING(1024)
        STEPPED_DOUBLING(2048) STEPPED_DOUBLING(4096) STEPPED_DOUBLING(8192)
            STEPPED_DOUBLING(16384)
    // The same range for aligned requests.
    ALIGNED_DOUBLING(256) ALIGNED_DOUBLING(512) ALIGNED_DOUBLING(1024)
        ALIGNED_DOUBLING(2048) ALIGNED_DOUBLING(4096) ALIGNED_DOUBLING(8192)
            ALIGNED_DOUBLING(16384)};

uint8_t ll_class_of_size[LL_SMALL_MAX / 16 + 1];

static uint8_t real_class_of_size[LL_SMALL_MAX / 16 + 1];
static bool is_veiled;
static uint32_t block_multiple = 16; // of bytes; classes of other sizes are not used

void ll_heap_align_blocks(uint32_t multiple_bytes) {
    block_multiple = multiple_bytes;
}

static bool is_usable(const struct ll_class* class, uint32_t size_bytes) {
    return class->block_size >= size_bytes && class->block_size % block_multiple == 0;
}

void ll_classes_start(void) {
    uint8_t class = 0;
    for (uint32_t i = 0; i <= LL_SMALL_MAX / 16; i++) {
        while (!is_usable(&ll_classes[class], 16 * i + 16)) {
            class++;
        }
        real_class_of_size[i] = class;
        ll_class_of_size[i] = is_veiled ? LL_CLASS_VEILED : class;
    }
}

void ll_classes_veil(void) {
    is_veiled = true;
    memset(ll_class_of_size, LL_CLASS_VEILED, sizeof ll_class_of_size);
}

unsigned ll_class_behind_veil(size_t size_bytes) {
    return real_class_of_size[size_bytes / 16];
}

// The first aligned class of at least that size, which lies above 256 and at most at
// 32 KiB.
static unsigned first_aligned_class(size_t size_bytes) {
    unsigned top = 63 - (unsigned)__builtin_clzll(size_bytes - 1);
    size_t base = (size_t)1 << top;
    size_t step = base / 4;
    size_t place = (size_bytes - base + step - 1) / step;
    return LL_STEPPED_CLASS_COUNT + (top - 8) * 4 + (unsigned)place - 1;
}

unsigned ll_class_for_aligned(size_t size_bytes, size_t alignment) {
    if (size_bytes >= ALIGNED_MAX || alignment > ALIGNED_MAX) {
        return LL_CLASS_COUNT;
    }
    size_t needed = (size_bytes + alignment) & ~(alignment - 1);
    if (needed <= 256) {
        return (unsigned)needed / 16 - 1;
    }
    if (needed > ALIGNED_MAX) {
        return LL_CLASS_COUNT;
    }
    unsigned class = first_aligned_class(needed);
    while (ll_classes[class].block_size % alignment != 0) {
        class++;
    }
    return class;
}
