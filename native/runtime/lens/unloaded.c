#include "lens/unloaded.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "heap/inspect.h"
#include "lens/stamps.h"
#include "os/memory.h"

enum { RANGES_MAX = 512 };

struct reference {
    uintptr_t slot;
    uintptr_t pointer;
};

// The references in one range of variables.
struct range {
    uintptr_t bias;
    struct reference* references;
    size_t count;
    size_t mapped_bytes;
    bool is_kept;
};

static LL_BULK struct range ranges[RANGES_MAX];
static size_t range_count;

static size_t count_references(const uintptr_t* at, const uintptr_t* end) {
    size_t count = 0;
    for (; at < end; at++) {
        count += ll_is_heap_address(*at);
    }
    return count;
}

void ll_unloaded_note(uintptr_t bias, uintptr_t start, uintptr_t end) {
    const uintptr_t* first = (const uintptr_t*)((start + 7) & -(uintptr_t)8);
    const uintptr_t* last = (const uintptr_t*)(end & -(uintptr_t)8);
    size_t count = count_references(first, last);
    if (count == 0 || range_count == RANGES_MAX) {
        return;
    }
    struct range range = {.bias = bias,
                          .mapped_bytes =
                              (count * sizeof *range.references + LL_PAGE_SIZE - 1) &
                              -(size_t)LL_PAGE_SIZE};
    range.references = ll_memory_map(range.mapped_bytes);
    if (range.references == NULL) {
        return;
    }
    // Another thread may store meanwhile.
    for (const uintptr_t* at = first; at < last && range.count < count; at++) {
        uintptr_t pointer = *(const volatile uintptr_t*)at;
        if (ll_is_heap_address(pointer)) {
            range.references[range.count++] =
                (struct reference){(uintptr_t)at, pointer};
        }
    }
    ranges[range_count++] = range;
}

void ll_unloaded_keep(uintptr_t bias) {
    for (size_t i = 0; i < range_count; i++) {
        ranges[i].is_kept |= ranges[i].bias == bias;
    }
}

void ll_unloaded_stamp(uint32_t site) {
    for (size_t i = 0; i < range_count; i++) {
        const struct range* range = &ranges[i];
        for (size_t k = 0; !range->is_kept && k < range->count; k++) {
            ll_stamp_gone(range->references[k].slot, range->references[k].pointer,
                          site);
        }
        ll_memory_unmap(range->references, range->mapped_bytes);
    }
    range_count = 0;
}
