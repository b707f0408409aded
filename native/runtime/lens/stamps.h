// Loss stamps: when and where the last reference to a block that anybody overwrote went
// (layout: format/plan.md). Trampolines write most of them; these functions write those
// that the runtime sees itself, and read them all.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "lens/ordinals.h"
#include "patch/hooks.h"
#include "stack/stack.h"

// True while losses are stamped. Fixed before the program's first instruction.
extern bool ll_stamps_on;

// Maps the shadow and the clock. False when the address space is not to be had. Blocks
// must be aligned to granules.
bool ll_stamps_start(void);

// Unmaps them; no patched store may run any more.
void ll_stamps_end(void);

enum { LL_STAMP_MARK_BIRTH = 1 };

// The same where nobody numbers blocks.
LL_INLINE void ll_stamp_birth_only(uintptr_t block) {
    *ll_stamp_of(block) = ll_stamp_pack_mark(ll_hooks_tick(), LL_STAMP_MARK_BIRTH, 0);
}

// A block is born: stamps left by those that lay there before count no more.
LL_INLINE void ll_stamp_birth(uintptr_t block) {
    ll_stamp_birth_only(block);
    if (LL_UNLIKELY(ll_ordinals_on)) {
        ll_ordinals_born(block);
    }
}

// The words of `block` from `start` to `end` are about to go: whatever they refer to
// loses a reference, and the next owner of the memory must not find it. `site` is the
// call stack that frees. Blocks beyond the option `search_limit` are left alone.
void ll_stamp_freed(uintptr_t block, uintptr_t start, uintptr_t end, uint32_t site);

// The same from the first word on that is a reference.
void ll_stamp_freed_from(uintptr_t block, uintptr_t first, uintptr_t end,
                         uint32_t site);

// Memory that is not the heap's is about to be unmapped by the call stack `site`.
void ll_stamp_unmapped(uintptr_t start, size_t size_bytes, uint32_t site);

// Memory that is not the heap's was moved: births of its references stay the same.
void ll_stamp_moved(uintptr_t from, uintptr_t to, size_t size_bytes);

// One slot was unmapped by the call stack `site`; `pointer` is what it held.
void ll_stamp_gone(uintptr_t slot, uintptr_t pointer, uint32_t site);

// A thread that ends, and what goes with it: the live part of its stack and, above the
// frames, its thread-local variables.
struct ll_ending {
    uintptr_t frames_start; // frames_end when all frames have returned
    uintptr_t frames_end;   // the CFA of the program's first function on it
    uintptr_t end;
    uint32_t node; // where it ended
};
void ll_stamp_thread_exit(const struct ll_ending* ending);

// A jump by the call stack `node` leaves the frame of a slot; `pointer` is what it
// held.
void ll_stamp_jumped_over(uintptr_t slot, uintptr_t pointer, uint32_t node);

struct ll_stamp {
    uint64_t clock;
    uint32_t place; // what a store's trampoline wrote, or a call stack's node
    // Of the frame that stored, or its caller's stack (patch/origin.h); 0 if unknown or
    // not a store.
    uint64_t return_address;
    uint32_t cause;    // LL_STAMP_*
    uintptr_t granule; // the part of the block that it is a stamp of
    // Of the slot in the freed block, or below a frame or thread pointer; LL_STAMP_FAR
    // if too far.
    uint32_t offset;
};

enum {
    LL_STAMP_none,     // nobody overwrote a reference since the block's birth
    LL_STAMP_store,    // `place` and `return_address` tell the store
    LL_STAMP_freed,    // `place` is the node of the call stack that freed the container
    LL_STAMP_unmapped, // `place` is the node of the call stack that unmapped it
    // `place` is the node of the thread's first frame, or of where it ended; `offset`
    // is how far below the CFA of its first function the slot was.
    LL_STAMP_thread_exit,
    LL_STAMP_thread_variable, // the same; `offset` is below the thread pointer
    LL_STAMP_jumped_over,     // `place` is the node of the call stack that jumped
};

enum { LL_STAMP_FAR = 0xfff * 8 };

// The latest stamp of a block.
struct ll_stamp ll_stamp_latest(uintptr_t block, size_t size_bytes);

// Replaces the node in the latest stamp of a block, if there is one. Those of older
// stamps are void then; nobody reads them. Returns what it cost, as an ll_node_holder.
uint64_t ll_stamp_rename(uintptr_t block, size_t size_bytes, ll_node_renaming* rename);
