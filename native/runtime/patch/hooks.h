// What trampolines call when a store is about to overwrite something that looks like a
// heap pointer (format/plan.md). The hooks decide whether it is one, and stamp.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/loss_page.h"
#include "patch/origin.h"

// One stamp, in the shadow of a granule: clock (48 bits), return address of the frame
// that stored or a mark (48), place (32). Hooks write it by three plain stores, each
// over the unused upper bytes of the one before.
struct ll_granule_stamp {
    uint64_t words[2];
};

static inline struct ll_granule_stamp ll_stamp_pack(uint64_t clock, uint64_t caller,
                                                    uint32_t place) {
    return (struct ll_granule_stamp){
        {clock | caller << 48, (caller & 0xffffffffffff) >> 16 | (uint64_t)place << 32},
    };
}

// The same with a mark of 16 bits in place of the caller, which takes less to pack.
static inline struct ll_granule_stamp ll_stamp_pack_mark(uint64_t clock, uint64_t mark,
                                                         uint32_t place) {
    return (struct ll_granule_stamp){{clock | mark << 48, (uint64_t)place << 32}};
}

static inline uint64_t ll_stamp_clock(struct ll_granule_stamp stamp) {
    return stamp.words[0] & 0xffffffffffff;
}

static inline uint64_t ll_stamp_caller(struct ll_granule_stamp stamp) {
    return stamp.words[0] >> 48 | (stamp.words[1] & 0xffffffff) << 16;
}

static inline uint32_t ll_stamp_place(struct ll_granule_stamp stamp) {
    return (uint32_t)(stamp.words[1] >> 32);
}

// The stamp of the granule that a pointer into the heap points to.
LL_INLINE LL_IN_HOOK struct ll_granule_stamp* ll_stamp_of(uintptr_t pointer) {
    uintptr_t granule = pointer / LL_GRANULE_BYTES;
    return (struct ll_granule_stamp*)(granule * LL_STAMP_BYTES);
}

// Locked instructions are slow; they are for processes with threads.
extern bool ll_hooks_are_locked;

// The next time of the clock that orders losses.
LL_INLINE LL_IN_HOOK uint64_t ll_hooks_tick(void) {
    uint64_t* clock = &ll_loss_page()->clock;
    return ll_hooks_are_locked ? __atomic_add_fetch(clock, 1, __ATOMIC_RELAXED)
                               : ++*clock;
}

// Maps the table that trampolines call through, after ll_births_start when births are
// wanted. So many bytes from the start of the heap on are in use, always: numbers that
// look like pointers beyond them would take a page of the shadow each. Idempotent;
// false when the table's address is taken.
bool ll_hooks_start(const uintptr_t* used_heap_bytes);

// Whether the word points into the heap.
bool ll_hooks_is_reference(uint64_t word);

// From now on the clock is incremented by locked instructions. To be called before the
// process has a second thread.
void ll_hooks_lock_clock(void);

// Stamps whatever the words of a range refer to.
void ll_hooks_stamp_range(uintptr_t start, size_t size_bytes,
                          const struct ll_storer* storer);

// True for slots on the current stack.
bool ll_hooks_is_stack(uintptr_t slot);

// Where the frames of the calling thread's own stack end: libc puts the thread's
// variables above them, and those are no stack. 0 if that is not known.
void ll_hooks_set_stack_end(uintptr_t end);
