// Blocks whose contents can be checked: filled by a pattern that depends on the block's
// own address, so that an overlap with any other block shows.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct patterned {
    unsigned char* start;
    size_t size_bytes;
    uint32_t site;
};

static inline unsigned char pattern_of(const unsigned char* start) {
    return (unsigned char)((uintptr_t)start >> 4 | 1);
}

static inline void pattern_fill(struct patterned block) {
    memset(block.start, pattern_of(block.start), block.size_bytes);
}

static inline bool pattern_holds(const unsigned char* bytes, unsigned char value,
                                 size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

static inline bool pattern_is_intact(struct patterned block) {
    return pattern_holds(block.start, pattern_of(block.start), block.size_bytes);
}

// A small generator of its own, so that a seed always gives the same run.
static inline uint32_t next_random(uint32_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Sizes as programs ask for them: mostly small, sometimes large.
static inline size_t random_size(uint32_t* state) {
    uint32_t limit =
        next_random(state) % 64 == 0 ? 400000 : 1u << next_random(state) % 13;
    return next_random(state) % limit;
}
