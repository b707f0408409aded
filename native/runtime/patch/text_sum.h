// A checksum of code that is as quick as reading it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct ll_text_sum {
    uint64_t words;    // sum of the 8-byte words
    uint64_t prefixes; // sum of the sums after each word
};

// Adds code that follows what the sum is of.
LL_INLINE void ll_text_sum_add(struct ll_text_sum* sum, uintptr_t start,
                               size_t size_bytes) {
    const uint64_t* word = (const uint64_t*)start;
    for (const uint64_t* end = word + size_bytes / sizeof *word; word < end; word++) {
        sum->words += *word;
        sum->prefixes += sum->words;
    }
}
