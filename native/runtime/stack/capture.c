// Captures: what the thread remembers of its last walks, or a walk.
#include <stdatomic.h>

#include "stack/frames.h"
#include "stack/handed.h"
#include "stack/levels.h"

static LL_NOINLINE uint32_t walk(struct ll_walker* walker, uintptr_t pc, uintptr_t sp,
                                 uintptr_t rbp) {
    return ll_frames_walk(walker, &(struct ll_caller){.pc = pc, .sp = sp, .rbp = rbp});
}

// The node of the frame if it is the innermost of the last walk, or a memo's; else 0.
LL_INLINE uint32_t remembered(struct ll_walker* walker, struct ll_caller caller) {
    uint32_t at = walker->at;
    const struct ll_level* level = &walker->levels[at];
    if (ll_level_is_frame(level, caller.sp, caller.pc, caller.rbp) &&
        LL_LIKELY(level->node != 0) && LL_LIKELY(ll_level_holds(walker, at))) {
        return walker->levels[at].node;
    }
    return ll_memo_node(walker, caller.pc, caller.sp, caller.rbp);
}

LL_INLINE uint32_t capture_unhanded(struct ll_walker* walker, struct ll_caller caller) {
    uint32_t node = remembered(walker, caller);
    return LL_LIKELY(node != 0) ? node : walk(walker, caller.pc, caller.sp, caller.rbp);
}

// Two stacks of one context at one place are those of two calls in a recursion.
static void remember(struct ll_walker* walker, struct ll_handed* ways,
                     struct ll_handed known) {
    walker->remembered++;
    ways[1] = ways[0];
    ways[0] = known;
}

static void remember_frame(struct ll_walker* walker, uint64_t context,
                           struct ll_caller caller, uint32_t node) {
    struct ll_frame frame = {.sp = caller.sp,
                             .pc = caller.pc,
                             .rbp = caller.rbp,
                             .rule = ll_rule_at(caller.pc)};
    bool needs_rbp = ll_rule_kind(frame.rule) == LL_RULE_RBP;
    if (node == 0 || !ll_hands_over(caller.pc) ||
        !ll_frame_plain_caller(walker->bounds, &frame)) {
        return;
    }
    remember(walker, ll_handed_ways(walker, context, caller.sp),
             (struct ll_handed){.context = context,
                                .sp = caller.sp,
                                .pc = caller.pc,
                                .rbp = caller.rbp,
                                .outer_slot = frame.sp - 8,
                                .outer_pc = frame.pc,
                                .node = node,
                                .clearing = walker->clearings,
                                .rbp_mask = needs_rbp ? UINT64_MAX : 0});
}

// For a thread that has no walker at hand. Nothing is remembered of such captures.
static LL_COLD uint32_t capture_with_borrowed(struct ll_caller caller) {
    struct ll_walker* walker =
        atomic_load(&ll_stack_is_started) ? ll_walker_borrow() : NULL;
    if (walker == NULL) {
        return 0;
    }
    ll_frames_refresh(walker);
    uint32_t node = capture_unhanded(walker, caller);
    ll_walker_give_back(walker);
    return node;
}

uint32_t ll_stack_capture_from(uintptr_t pc, uintptr_t sp, uintptr_t rbp) {
    struct ll_caller caller = {.pc = pc, .sp = sp, .rbp = rbp};
    struct ll_walker* walker = ll_walker_take_own();
    if (LL_UNLIKELY(walker == NULL)) {
        return capture_with_borrowed(caller);
    }
    ll_frames_refresh(walker);
    uint32_t node = capture_unhanded(walker, caller);
    ll_walker_put_back(walker);
    return node;
}

static LL_NOINLINE uint32_t remember_handed(struct ll_walker* walker, uint64_t context,
                                            uintptr_t pc, uintptr_t sp, uintptr_t rbp) {
    struct ll_caller caller = {.pc = pc, .sp = sp, .rbp = rbp};
    ll_frames_refresh(walker);
    uint32_t node = capture_unhanded(walker, caller);
    remember_frame(walker, context, caller, node);
    ll_walker_put_back(walker);
    return node;
}

uint32_t ll_stack_capture_handed(uintptr_t pc, uintptr_t sp, uintptr_t rbp) {
    uint64_t context = ll_handed_take();
    struct ll_walker* walker = context != 0 ? ll_walker_take_own() : NULL;
    if (LL_UNLIKELY(walker == NULL)) {
        return ll_stack_capture_from(pc, sp, rbp);
    }
    struct ll_caller caller = {.pc = pc, .sp = sp, .rbp = rbp};
    uint32_t node = ll_handed_find(walker, context, caller);
    if (LL_UNLIKELY(node == 0)) {
        return remember_handed(walker, context, pc, sp, rbp);
    }
    ll_walker_put_back(walker);
    return node;
}

// Stands for the slot of a return address that nobody has to look at.
static const uintptr_t no_slot;

static LL_NOINLINE uint32_t remember_any_depth(struct ll_walker* walker,
                                               uint64_t context, uintptr_t pc,
                                               uintptr_t sp, uintptr_t rbp) {
    struct ll_caller caller = {.pc = pc, .sp = sp, .rbp = rbp};
    ll_frames_refresh(walker);
    uint32_t node = capture_unhanded(walker, caller);
    if (node != 0 && ll_hands_over(pc)) {
        remember(walker, ll_handed_ways(walker, context, 0),
                 (struct ll_handed){.context = context,
                                    .pc = pc,
                                    .outer_slot = (uintptr_t)&no_slot,
                                    .node = node,
                                    .clearing = walker->clearings});
    }
    ll_walker_put_back(walker);
    return node;
}

uint32_t ll_stack_capture_handed_any_depth(uintptr_t pc, uintptr_t sp, uintptr_t rbp) {
    uint64_t context = ll_handed_take();
    struct ll_walker* walker = context != 0 ? ll_walker_take_own() : NULL;
    if (LL_UNLIKELY(walker == NULL)) {
        return ll_stack_capture_from(pc, sp, rbp);
    }
    const struct ll_handed* known = ll_handed_ways(walker, context, 0);
    if ((!ll_handed_is_at(known, walker, context, pc) &&
         LL_UNLIKELY(!ll_handed_is_at(++known, walker, context, pc))) ||
        LL_UNLIKELY(!ll_frames_are_current(walker))) {
        return remember_any_depth(walker, context, pc, sp, rbp);
    }
    uint32_t node = known->node;
    ll_walker_put_back(walker);
    return node;
}

uint32_t ll_stack_recall(struct ll_caller caller) {
    struct ll_walker* walker = ll_own_walker;
    if (walker == NULL) {
        return 0;
    }
    ll_own_walker = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t node = ll_frames_are_current(walker) ? remembered(walker, caller) : 0;
    ll_walker_put_back(walker);
    return node;
}
