// Contexts that callers hand over. Code that `leakline cc` compiled says, before it
// calls a function of the heap, by which chain of calls it came there: one number in a
// thread-local variable of its own (format/sites.md). A stack that was walked with such
// a number is not walked again while the number, the frame and the frames around it are
// what they were.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack/frames.h"
#include "stack/levels.h"
#include "stack/stack.h"
#include "stack/walker.h"

// Code from `start` to `end` hands contexts over; `variable` is where the calling
// thread has the variable. False when other code keeps it elsewhere: its contexts are
// not read.
bool ll_handed_add_code(uintptr_t start, uintptr_t end, const uint64_t* variable);

// No code does any more, until it is added again.
void ll_handed_forget_code(void);

// What was handed to this call; 0 if nothing.
LL_INLINE uint64_t ll_handed_look(void) {
    uint64_t context = 0;
    intptr_t offset = atomic_load_explicit(&ll_handed_offset, memory_order_relaxed);
    if (LL_LIKELY(offset != 0)) {
        __asm__ volatile("movq %%fs:(%1), %0" : "=r"(context) : "r"(offset) : "memory");
    }
    return context;
}

// It counts for no later call.
LL_INLINE void ll_handed_drop(void) {
    intptr_t offset = atomic_load_explicit(&ll_handed_offset, memory_order_relaxed);
    if (LL_LIKELY(offset != 0)) {
        __asm__ volatile("movq $0, %%fs:(%0)" : : "r"(offset) : "memory");
    }
}

LL_INLINE uint64_t ll_handed_take(void) {
    uint64_t context = ll_handed_look();
    ll_handed_drop();
    return context;
}

// The two places where a stack may be remembered.
LL_INLINE struct ll_handed* ll_handed_ways(struct ll_walker* walker, uint64_t context,
                                           uint64_t sp) {
    uint64_t hash = (context ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return &walker->handed[hash >> (64 - LL_HANDED_BITS) & ~(uint64_t)1];
}

// One frame is looked at as it is: contexts leave out recursion and calls by address,
// so that they stay few.
LL_INLINE bool ll_handed_is(const struct ll_handed* known,
                            const struct ll_walker* walker, uint64_t context,
                            const struct ll_caller* caller) {
    // One branch: where the context and the place are the same, all else mostly is.
    uint64_t difference = (known->context ^ context) | (known->sp ^ caller->sp) |
                          (known->pc ^ caller->pc) |
                          (known->clearing ^ walker->clearings) |
                          ((known->rbp ^ caller->rbp) & known->rbp_mask);
    return difference == 0 && ll_stack_load(known->outer_slot) == known->outer_pc;
}

// The same for a stack that was remembered for all depths.
LL_INLINE bool ll_handed_is_at(const struct ll_handed* known,
                               const struct ll_walker* walker, uint64_t context,
                               uint64_t pc) {
    return ((known->context ^ context) | known->sp | (known->pc ^ pc) |
            (known->clearing ^ walker->clearings)) == 0;
}

// The node that is remembered for the context and the caller; 0 if none is.
LL_INLINE uint32_t ll_handed_find(struct ll_walker* walker, uint64_t context,
                                  struct ll_caller caller) {
    const struct ll_handed* known = ll_handed_ways(walker, context, caller.sp);
    if ((!ll_handed_is(known, walker, context, &caller) &&
         LL_UNLIKELY(!ll_handed_is(++known, walker, context, &caller))) ||
        LL_UNLIKELY(!ll_frames_are_current(walker))) {
        return 0;
    }
    return known->node;
}

// As ll_stack_capture where the node is remembered; otherwise 0, and what was handed
// over is still there to be taken. The walker stays where it is, so that nothing has to
// be kept over a call; what a signal handler remembers meanwhile shows in its count.
LL_INLINE uint32_t ll_handed_recall(struct ll_caller caller) {
    uint64_t context = ll_handed_look();
    struct ll_walker* walker = ll_own_walker;
    if (LL_UNLIKELY(context == 0) || LL_UNLIKELY(walker == NULL)) {
        return 0;
    }
    uint32_t remembered = walker->remembered;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t node = ll_handed_find(walker, context, caller);
    atomic_signal_fence(memory_order_seq_cst);
    if (LL_UNLIKELY(node == 0) || LL_UNLIKELY(walker->remembered != remembered)) {
        return 0;
    }
    ll_handed_drop();
    return node;
}

// Whether the caller is code that hands contexts over. Elsewhere a context is that of a
// call that is over.
bool ll_hands_over(uintptr_t pc);
