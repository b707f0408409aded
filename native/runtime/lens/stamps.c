#include "lens/stamps.h"

#include "base/attributes.h"
#include "heap/inspect.h"
#include "os/memory.h"
#include "patch/hooks.h"
#include "patch/shadow.h"

enum { GRANULE = 16 };

// What the runtime writes in place of a return address; no code lies this low.
enum { MARK_BIRTH = 1, MARK_FREED = 2, MARK_LIMIT = 16 };

bool ll_stamps_on;

static struct ll_granule_stamp* stamp_of(uintptr_t address) {
    return (struct ll_granule_stamp*)((address & ~(uintptr_t)(GRANULE - 1)) +
                                      LL_SHADOW_DELTA);
}

static const uintptr_t shadow_start = (uintptr_t)(LL_HEAP_TAG + 1) << 40;
static const size_t shadow_size = ((size_t)1 << 40) + 0x2000;

bool ll_stamps_start(void) {
    if (!ll_is_heap_address((uintptr_t)LL_HEAP_TAG << 40)) {
        return false;
    }
    ll_stamps_on = ll_hooks_start() && ll_memory_claim(shadow_start, shadow_size);
    return ll_stamps_on;
}

void ll_stamps_end(void) {
    ll_stamps_on = false;
    ll_memory_unmap((void*)shadow_start, shadow_size);
}

static void stamp(uintptr_t address, uint32_t place, uint64_t mark) {
    *stamp_of(address) = ll_stamp_pack(ll_hooks_tick(), mark, place);
}

void ll_stamp_birth(uintptr_t block) {
    stamp(block, 0, MARK_BIRTH);
}

void ll_stamp_freed(uintptr_t block, size_t size_bytes, uint32_t site) {
    uint64_t* word = (uint64_t*)block;
    for (uint64_t* end = word + size_bytes / sizeof *word; word < end; word++) {
        if (LL_UNLIKELY(*word >> 40 == LL_HEAP_TAG)) {
            stamp(*word, site, MARK_FREED);
            *word = 0;
        }
    }
}

static struct ll_stamp read_stamp(struct ll_granule_stamp raw) {
    uint64_t caller = ll_stamp_caller(raw);
    struct ll_stamp result = {
        .clock = ll_stamp_clock(raw),
        .place = ll_stamp_place(raw),
        .cause = LL_STAMP_store,
    };
    if (caller == MARK_FREED) {
        result.cause = LL_STAMP_freed;
    } else if (caller == MARK_BIRTH || result.clock == 0) {
        result.cause = LL_STAMP_none;
    } else {
        result.return_address = caller < MARK_LIMIT ? 0 : caller;
    }
    return result;
}

struct ll_stamp ll_stamp_latest(uintptr_t block, size_t size_bytes) {
    struct ll_granule_stamp latest = {0};
    for (uintptr_t at = block; at <= block + size_bytes; at += GRANULE) {
        struct ll_granule_stamp candidate = *stamp_of(at);
        if (ll_stamp_clock(candidate) > ll_stamp_clock(latest)) {
            latest = candidate;
        }
    }
    return read_stamp(latest);
}
