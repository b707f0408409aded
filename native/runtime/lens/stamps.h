// Loss stamps: when and where the last reference to a block that anybody overwrote went
// (layout: format/plan.md). Trampolines write most of them; these functions write those
// that the runtime sees itself, and read them all.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// True while losses are stamped. Fixed before the program's first instruction.
extern bool ll_stamps_on;

// Maps the shadow and the clock. False when the address space is not to be had.
bool ll_stamps_start(void);

// Unmaps them; no patched store may run any more.
void ll_stamps_end(void);

// A block is born: stamps left by those that lay there before count no more.
void ll_stamp_birth(uintptr_t block);

// The block's words are about to go: whatever they refer to loses a reference, and the
// next owner of the memory must not find it. `site` is the call stack that frees.
void ll_stamp_freed(uintptr_t block, size_t size_bytes, uint32_t site);

struct ll_stamp {
    uint64_t clock;
    uint32_t place;          // what a store's trampoline wrote, or a call stack's node
    uint64_t return_address; // of the frame that stored; 0 if unknown or not a store
    uint32_t cause;          // LL_STAMP_*
};

enum {
    LL_STAMP_none,  // nobody overwrote a reference since the block's birth
    LL_STAMP_store, // `place` and `return_address` tell the store
    LL_STAMP_freed, // `place` is the node of the call stack that freed the container
};

// The latest stamp of a block.
struct ll_stamp ll_stamp_latest(uintptr_t block, size_t size_bytes);
