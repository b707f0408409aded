// Goes through the words of a block that is about to be freed, for the references among
// them. Inline, since every free does it while losses are stamped.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/options.h"
#include "heap/inspect.h"

// Whether a container of that size is looked into.
LL_INLINE bool ll_is_searched(size_t size_bytes) {
    return ll_options.search_limit == 0 || size_bytes <= ll_options.search_limit;
}

// The first word from `at` on that is a reference, or `end` if there is none. Most are
// none: two are looked at together, and the heap's bounds are read once.
LL_INLINE uintptr_t ll_next_reference(uintptr_t at, uintptr_t end) {
    uintptr_t heap_start = ll_range.start;
    uintptr_t heap_size = ll_range.used_bytes;
    for (; end - at >= 2 * sizeof(uint64_t); at += 2 * sizeof(uint64_t)) {
        const uint64_t* pair = (const uint64_t*)at;
        bool first_refers = pair[0] - heap_start < heap_size;
        bool second_refers = pair[1] - heap_start < heap_size;
        if (first_refers || second_refers) {
            return first_refers ? at : at + sizeof(uint64_t);
        }
    }
    return at < end && *(const uint64_t*)at - heap_start < heap_size ? at : end;
}

// Behind the last whole word from `start` on.
LL_INLINE uintptr_t ll_words_end(uintptr_t start, uintptr_t end) {
    return start + ((end - start) & -(uintptr_t)sizeof(uint64_t));
}

// The first word of a block from `start` to `end` that looks like a reference; 0 when
// there is none, or the block is beyond the option `search_limit`.
LL_INLINE uintptr_t ll_first_reference(uintptr_t start, uintptr_t end) {
    if (LL_UNLIKELY(!ll_is_searched(end - start))) {
        return 0;
    }
    uintptr_t last = ll_words_end(start, end);
    uintptr_t first = ll_next_reference(start, last);
    return first != last ? first : 0;
}
