#include "entry/blocks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/copy.h"
#include "heap/inspect.h"
#include "lens/delays.h"
#include "lens/old_words.h"
#include "lens/ordinals.h"
#include "lens/scan.h"
#include "patch/births.h"
#include "stack/handed.h"

// Up to this size a loop is faster than the instructions for strings.
enum { FEW_WORDS = 64 };

// Blocks have room for whole words. libc's own functions are patched and would note
// these references as overwritten; the fence keeps the compiler from calling them.
static void move_words(uint64_t* to, uint64_t* from, size_t count) {
    if (count > FEW_WORDS) {
        ll_copy(to, from, count * sizeof *from);
        ll_clear(from, count * sizeof *from);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        from[i] = 0;
        atomic_signal_fence(memory_order_seq_cst);
    }
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

static struct ll_resized move(char* block, size_t old_size, size_t size_bytes,
                              ll_site site) {
    char* moved = ll_heap_allocate(size_bytes, site);
    if (moved != NULL) {
        size_t kept = old_size < size_bytes ? old_size : size_bytes;
        stamp_rest(block, old_size, size_bytes, site);
        move_words((uint64_t*)moved, (uint64_t*)block, (kept + 7) / 8);
        if (ll_births_on) {
            ll_births_move((uintptr_t)block, (uintptr_t)moved, (const uint64_t*)moved,
                           kept / sizeof(uint64_t));
        }
        ll_stamp_birth((uintptr_t)moved);
        if (!is_delayed(block)) {
            ll_heap_release(block);
        }
    }
    return (struct ll_resized){moved, NULL};
}

struct ll_resized ll_entry_reallocate_stamped(void* block, size_t size_bytes,
                                              ll_site site) {
    struct ll_block known;
    if (!ll_block_starting_at(block, &known)) {
        return (struct ll_resized){0};
    }
    size_t old_size = ll_block_size(known);
    if (!ll_block_shrinks_in_place(known, size_bytes)) {
        return move(block, old_size, size_bytes, site);
    }
    stamp_rest(block, old_size, size_bytes, site);
    return ll_heap_reallocate(block, size_bytes, site);
}

LL_INLINE struct ll_caller caller_above(uintptr_t sp, uintptr_t rbp) {
    return (struct ll_caller){.pc = ((const uintptr_t*)sp)[-1], .sp = sp, .rbp = rbp};
}

static LL_NOINLINE void* allocate_slowly(size_t size_bytes, ll_site site) {
    void* block = ll_heap_allocate_slowly(size_bytes, site).block;
    if (LL_UNLIKELY(block == NULL)) {
        errno = ENOMEM;
        return NULL;
    }
    ll_stamp_birth_only((uintptr_t)block);
    return block;
}

LL_INLINE void* allocate(size_t size_bytes, ll_site site) {
    struct ll_quick known;
    void* block = ll_quick_take(size_bytes, site, &known);
    if (LL_UNLIKELY(block == NULL)) {
        return allocate_slowly(size_bytes, site);
    }
    ll_stamp_birth_only((uintptr_t)block);
    return block;
}

static LL_NOINLINE void* allocate_with_walk(size_t size_bytes, uintptr_t sp,
                                            uintptr_t rbp) {
    return allocate(size_bytes, ll_stack_capture(caller_above(sp, rbp)));
}

// Ends with each call that it makes, so that it saves no register. So does its
// counterpart below.
LL_NOINLINE void* ll_entry_allocate_stamped(size_t size_bytes, uintptr_t sp,
                                            uintptr_t rbp) {
    ll_site site = ll_handed_recall(caller_above(sp, rbp));
    return LL_LIKELY(site != 0) ? allocate(size_bytes, site)
                                : allocate_with_walk(size_bytes, sp, rbp);
}

LL_NOINLINE void ll_entry_free_otherwise(void* block, uintptr_t pc, uintptr_t sp,
                                         uintptr_t rbp) {
    struct ll_caller caller = {.pc = pc, .sp = sp, .rbp = rbp};
    LL_ENTRY_RELEASE(block, ll_entry_freeing_site(caller));
}

static LL_NOINLINE void free_searching(uintptr_t block, struct ll_quick_block quick,
                                       uintptr_t sp, uintptr_t rbp) {
    uintptr_t end = block + ll_quick_size(quick);
    uintptr_t first = ll_first_reference(block, end);
    if (first != 0) {
        ll_site site = ll_stack_capture_any_depth(caller_above(sp, rbp));
        ll_stamp_freed_from(block, first, end, site);
    } else {
        ll_handed_drop();
    }
    ll_quick_release(quick);
}

// The least a block has room for is two words. Many have no more: the nodes of trees.
static bool is_small_leaf(const uint64_t* words, size_t size_bytes) {
    return size_bytes <= 2 * sizeof *words && !ll_is_heap_address(words[0]) &&
           !ll_is_heap_address(words[1]);
}

LL_NOINLINE void ll_entry_free_stamped(void* block, uintptr_t sp, uintptr_t rbp) {
    struct ll_quick_block quick;
    if (LL_UNLIKELY(!ll_quick_find(block, &quick))) {
        ll_entry_free_otherwise(block, caller_above(sp, rbp).pc, sp, rbp);
    } else if (is_small_leaf(block, ll_quick_size(quick))) {
        ll_handed_drop();
        ll_quick_release(quick);
    } else {
        free_searching((uintptr_t)block, quick, sp, rbp);
    }
}

static struct ll_watched does_not_matter(void) {
    ll_handed_drop();
    return (struct ll_watched){0};
}

struct ll_watched ll_entry_watched_words(const void* block) {
    struct ll_block known;
    if (LL_UNLIKELY(!ll_block_starting_at(block, &known))) {
        return does_not_matter();
    }
    uintptr_t start = (uintptr_t)block;
    uintptr_t end = start + ll_block_size(known);
    if (ll_releases_watched == LL_RELEASES_CLEARED) {
        ll_old_words_clear(start, end);
        return does_not_matter();
    }
    if (LL_UNLIKELY((ll_releases_watched & LL_RELEASES_SKIPPED) != 0)) {
        // Whether the block goes is not known yet.
        return (struct ll_watched){.first = start, .end = end};
    }
    if (LL_UNLIKELY(ll_ordinals_on)) {
        ll_ordinals_freed(start);
    }
    uintptr_t first = ll_first_reference(start, end);
    if (first == 0 && (ll_releases_watched & LL_RELEASES_DELAYED) == 0) {
        return does_not_matter();
    }
    return (struct ll_watched){.first = first != 0 ? first : end, .end = end};
}

bool ll_entry_before_release(void* block, struct ll_watched words, ll_site site) {
    uintptr_t start = (uintptr_t)block;
    if (LL_UNLIKELY((ll_releases_watched & LL_RELEASES_SKIPPED) != 0)) {
        if (ll_injector_skips(block, site)) {
            return false;
        }
        if (ll_ordinals_on) {
            ll_ordinals_freed(start);
        }
    }
    if (ll_stamps_on) {
        ll_stamp_freed(start, words.first, words.end, site);
    }
    return !is_delayed(block);
}
