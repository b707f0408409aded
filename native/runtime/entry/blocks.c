#include "entry/blocks.h"

#include <stdint.h>

#include "base/copy.h"
#include "heap/inspect.h"
#include "lens/delays.h"
#include "lens/old_words.h"
#include "lens/ordinals.h"
#include "patch/births.h"
#include "stack/handed.h"

// libc's own functions are patched and would note these references as overwritten.
static void clear(void* block, size_t size_bytes) {
    __asm__ volatile("rep stosb" : "+D"(block), "+c"(size_bytes) : "a"(0) : "memory");
}

// Words behind the new size go with it.
static void stamp_rest(char* block, size_t old_size, size_t size_bytes, ll_site site) {
    size_t kept = (size_bytes + 7) & ~(size_t)7;
    if (kept < old_size) {
        uintptr_t start = (uintptr_t)block;
        ll_stamp_freed(start, start + kept, start + old_size, site);
    }
}

static bool is_delayed(void* block) {
    return (ll_releases_watched & LL_RELEASES_DELAYED) != 0 && ll_delays_keep(block);
}

static void* move(char* block, size_t old_size, size_t size_bytes, ll_site site) {
    char* moved = ll_heap_allocate(size_bytes, site);
    if (moved != NULL) {
        size_t kept = old_size < size_bytes ? old_size : size_bytes;
        stamp_rest(block, old_size, size_bytes, site);
        ll_copy(moved, block, kept);
        if (ll_births_on) {
            ll_births_move((uintptr_t)block, (uintptr_t)moved, (const uint64_t*)moved,
                           kept / sizeof(uint64_t));
        }
        clear(block, kept);
        ll_stamp_birth((uintptr_t)moved);
        if (!is_delayed(block)) {
            ll_heap_release(block);
        }
    }
    return moved;
}

void* ll_entry_reallocate_stamped(void* block, size_t size_bytes, ll_site site) {
    size_t old_size = ll_heap_requested_size(block);
    if (!ll_block_shrinks_in_place(block, size_bytes)) {
        return move(block, old_size, size_bytes, site);
    }
    stamp_rest(block, old_size, size_bytes, site);
    return ll_heap_reallocate(block, size_bytes, site);
}

uintptr_t ll_entry_end_of_watched(const void* block) {
    uintptr_t start = (uintptr_t)block;
    uintptr_t end = start + ll_heap_requested_size(block);
    if (ll_releases_watched == LL_RELEASES_CLEARED) {
        ll_old_words_clear(start, end);
        ll_handed_take();
        return 0;
    }
    if (LL_UNLIKELY((ll_releases_watched & LL_RELEASES_SKIPPED) != 0)) {
        return end; // whether the block goes is not known yet
    }
    if (LL_UNLIKELY(ll_ordinals_on)) {
        ll_ordinals_freed(start);
    }
    if (ll_stamps_refer(start, end) ||
        (ll_releases_watched & LL_RELEASES_DELAYED) != 0) {
        return end;
    }
    ll_handed_take();
    return 0;
}

bool ll_entry_before_release(void* block, uintptr_t end, ll_site site) {
    uintptr_t start = (uintptr_t)block;
    if ((ll_releases_watched & LL_RELEASES_SKIPPED) != 0) {
        if (ll_injector_skips(block, site)) {
            return false;
        }
        if (ll_ordinals_on) {
            ll_ordinals_freed(start);
        }
    }
    if (ll_stamps_on) {
        ll_stamp_freed(start, start, end, site);
    }
    return !is_delayed(block);
}
