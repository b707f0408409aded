// The walk: from the caller outwards until it meets a level that still holds, or the
// end of the stack.
#include "stack/frames.h"

#include <stdatomic.h>

#include "format/records.h"
#include "stack/handed.h"
#include "stack/levels.h"
#include "stack/sweep.h"

// Counts unloads of code.
static _Atomic uint32_t epoch;

void ll_frames_forget(void) {
    atomic_fetch_add(&epoch, 1);
}

static const ll_rule FULL_RULE = LL_RULE_SPECIAL | LL_RULE_FULL << 2;

void ll_frames_set_outermost(struct ll_walker* walker, enum ll_step last,
                             uint16_t reason) {
    walker->outermost = (struct ll_outermost){0};
    if (last != LL_STEP_END) {
        walker->outermost.flags = LL_NODE_stopped;
        walker->outermost.reason =
            last == LL_STEP_STOPPED ? reason : (uint16_t)LL_STOP_expression;
    }
}

// The loader's first code has no table: what lies at the very top of the stack was not
// called by anyone.
enum { TOP_BYTES = 64 };

static bool is_start_of_program(const struct ll_walker* walker, enum ll_step step,
                                uint16_t reason) {
    uint64_t sp = walker->frames[walker->frame_count - 1].sp;
    return step == LL_STEP_STOPPED && reason == LL_STOP_no_unwind_table &&
           walker->bounds.high - sp <= TOP_BYTES;
}

static bool needs_other_registers(enum ll_step step, uint16_t reason) {
    return step == LL_STEP_NEEDS_REGISTER ||
           (step == LL_STEP_STOPPED && reason == LL_STOP_expression);
}

// Goes on outwards through the frame of a signal handler. Such a walk leaves no levels:
// the handler may run on another stack, and soon be gone.
static LL_COLD uint32_t walk_out_of_handler(struct ll_walker* walker,
                                            const struct ll_caller* caller,
                                            struct ll_frame frame) {
    struct ll_stack_reader reader = {.bounds = walker->bounds,
                                     .wanted = LL_CAPTURE_REGISTERS};
    enum ll_step step = LL_STEP_CALLER;
    uint16_t reason = LL_STOP_none;
    walker->frames[walker->frame_count - 1].flags |= LL_NODE_signal;
    while (step == LL_STEP_CALLER) {
        frame.rule = frame.flags & LL_NODE_exact_pc ? FULL_RULE : ll_rule_at(frame.pc);
        if (!ll_frame_keep(walker, frame)) {
            step = LL_STEP_STOPPED;
            reason = LL_STOP_depth;
            break;
        }
        if (!ll_bounds_contain(reader.bounds, frame.sp) &&
            !ll_bounds_at(&walker->other_stacks, frame.sp, &reader.bounds)) {
            step = LL_STEP_STOPPED;
            reason = LL_STOP_outside_stack;
            break;
        }
        step =
            ll_frame_caller(&walker->other_stacks, &reader,
                            &walker->frames[walker->frame_count - 1], &frame, &reason);
        if (step == LL_STEP_CALLER && frame.flags & LL_NODE_exact_pc) {
            walker->frames[walker->frame_count - 1].flags |= LL_NODE_signal;
        }
    }
    if (needs_other_registers(step, reason)) {
        return ll_frames_capture_fully(walker, caller);
    }
    ll_frames_set_outermost(walker, step, reason);
    return ll_frames_node(walker);
}

// Levels are good for one stack; what is known of that may have grown.
static bool is_on_known_stack(struct ll_walker* walker, uintptr_t sp) {
    struct ll_stack_bounds before = walker->bounds;
    if (LL_LIKELY(ll_bounds_contain(before, sp))) {
        return true;
    }
    bool known = ll_bounds_at(&walker->other_stacks, sp, &walker->bounds);
    if (!known || !ll_bounds_contain(walker->bounds, before.low)) {
        ll_walker_reset(walker);
    }
    return known;
}

// A walk to the end of the stack: its frames become the levels.
static uint32_t finish_at_end(struct ll_walker* walker) {
    return ll_levels_add_frames(walker, LL_LEVELS_NONE)
               ? ll_level_node(walker, walker->at)
               : ll_frames_node(walker);
}

// The walk met a frame that is not plain, or the last one. True when it goes on with
// `next`; otherwise `node` is the result.
static LL_COLD bool step_specially(struct ll_walker* walker,
                                   const struct ll_caller* caller,
                                   struct ll_frame* next, uint32_t* node) {
    struct ll_stack_reader reader = {.bounds = walker->bounds,
                                     .wanted = LL_CAPTURE_REGISTERS};
    uint16_t reason = LL_STOP_none;
    enum ll_step step =
        ll_frame_caller(&walker->other_stacks, &reader,
                        &walker->frames[walker->frame_count - 1], next, &reason);
    walker->bounds = reader.bounds;
    if (step == LL_STEP_CALLER && next->flags == 0) {
        return true;
    }
    if (step == LL_STEP_CALLER) {
        *node = walk_out_of_handler(walker, caller, *next);
    } else if (needs_other_registers(step, reason)) {
        *node = ll_frames_capture_fully(walker, caller);
    } else {
        bool is_start = is_start_of_program(walker, step, reason);
        ll_frames_set_outermost(walker, is_start ? LL_STEP_END : step, reason);
        *node = finish_at_end(walker);
    }
    return false;
}

static LL_COLD uint32_t stop_at_once(struct ll_walker* walker,
                                     const struct ll_caller* caller, uint16_t reason) {
    struct ll_frame frame = {.sp = caller->sp, .pc = caller->pc, .rbp = caller->rbp};
    ll_frame_keep(walker, frame);
    ll_frames_set_outermost(walker, LL_STEP_STOPPED, reason);
    return finish_at_end(walker);
}

static uint32_t walk(struct ll_walker* walker, const struct ll_caller* caller);

// Whether the levels begin at the real end of the stack. A signal handler's never do:
// behind it lies what it interrupted.
static bool reach_the_end(const struct ll_walker* walker) {
    struct ll_node outermost;
    return ll_node_get(walker->levels[0].node, &outermost) &&
           (outermost.flags & LL_NODE_stopped) == 0;
}

// A walk to level `walker->at`: its frames become levels inside of that.
static uint32_t finish_at_join(struct ll_walker* walker,
                               const struct ll_caller* caller) {
    uint32_t join = walker->at;
    if (LL_UNLIKELY(ll_sweep_is_due()) && reach_the_end(walker)) {
        ll_sweep();
        return ll_frames_capture(walker, caller);
    }
    walker->folded_recursion = false;
    if (LL_UNLIKELY(!ll_levels_add_frames(walker, LL_LEVELS_JOINED))) {
        // There are no levels now, so the next walk goes to the end.
        return walk(walker, caller);
    }
    uint32_t node = ll_level_node(walker, walker->at);
    // A memo must not bring back the outer frames of another recursion.
    if (walker->dropped == 0 && !walker->folded_recursion) {
        ll_memo_keep(walker, join, node);
    }
    return node;
}

static uint32_t walk(struct ll_walker* walker, const struct ll_caller* caller) {
    struct ll_frame frame = {.sp = caller->sp, .pc = caller->pc, .rbp = caller->rbp};
    walker->frame_count = 0;
    if (LL_UNLIKELY(!is_on_known_stack(walker, frame.sp))) {
        return stop_at_once(walker, caller, LL_STOP_outside_stack);
    }
    while (!ll_levels_join(walker, frame.sp, frame.pc, frame.rbp)) {
        frame.rule = ll_rule_at(frame.pc);
        if (LL_UNLIKELY(!ll_frame_keep(walker, frame))) {
            return stop_at_once(walker, caller, LL_STOP_depth);
        }
        if (LL_UNLIKELY(!ll_frame_plain_caller(walker->bounds, &frame) ||
                        frame.pc == 0)) {
            struct ll_frame next;
            uint32_t node;
            if (!step_specially(walker, caller, &next, &node)) {
                return node;
            }
            frame = next;
        }
    }
    return finish_at_join(walker, caller);
}

LL_INLINE bool are_current(const struct ll_walker* walker) {
    return walker->epoch == atomic_load_explicit(&epoch, memory_order_relaxed);
}

// The node of the frame if it is the innermost of the last walk, or a memo's; else 0.
LL_INLINE uint32_t remembered(struct ll_walker* walker,
                              const struct ll_caller* caller) {
    const struct ll_level* level = &walker->levels[walker->at];
    if (LL_LIKELY(ll_level_is_frame(level, caller->sp, caller->pc, caller->rbp)) &&
        LL_LIKELY(level->node != 0) && LL_LIKELY(ll_level_holds(walker, walker->at))) {
        return level->node;
    }
    return ll_memo_node(walker, caller);
}

uint32_t ll_frames_recall(struct ll_walker* walker, const struct ll_caller* caller) {
    return are_current(walker) ? remembered(walker, caller) : 0;
}

LL_INLINE uint32_t capture_unhanded(struct ll_walker* walker,
                                    const struct ll_caller* caller) {
    uint32_t node = remembered(walker, caller);
    return LL_LIKELY(node != 0) ? node : walk(walker, caller);
}

// Two stacks of one context at one place are those of two calls in a recursion.
static void remember(struct ll_handed* ways, struct ll_handed known) {
    ways[1] = ways[0];
    ways[0] = known;
}

static void remember_frame(struct ll_walker* walker, uint64_t context,
                           const struct ll_caller* caller, uint32_t node) {
    struct ll_frame frame = {.sp = caller->sp,
                             .pc = caller->pc,
                             .rbp = caller->rbp,
                             .rule = ll_rule_at(caller->pc)};
    bool needs_rbp = ll_rule_kind(frame.rule) == LL_RULE_RBP;
    if (node == 0 || !ll_hands_over(caller->pc) ||
        !ll_frame_plain_caller(walker->bounds, &frame)) {
        return;
    }
    remember(ll_handed_ways(walker, context, caller->sp),
             (struct ll_handed){.context = context,
                                .sp = caller->sp,
                                .pc = caller->pc,
                                .rbp = caller->rbp,
                                .outer_slot = frame.sp - 8,
                                .outer_pc = frame.pc,
                                .node = node,
                                .clearing = walker->clearings,
                                .needs_rbp = needs_rbp});
}

static LL_NOINLINE uint32_t capture_handed(struct ll_walker* walker, uint64_t context,
                                           const struct ll_caller* caller) {
    const struct ll_handed* ways = ll_handed_ways(walker, context, caller->sp);
    if (LL_LIKELY(ll_handed_is(&ways[0], walker, context, caller))) {
        return ways[0].node;
    }
    if (LL_LIKELY(ll_handed_is(&ways[1], walker, context, caller))) {
        return ways[1].node;
    }
    uint32_t node = capture_unhanded(walker, caller);
    remember_frame(walker, context, caller, node);
    return node;
}

static LL_NOINLINE uint32_t capture_any_depth(struct ll_walker* walker,
                                              uint64_t context,
                                              const struct ll_caller* caller) {
    struct ll_handed* ways = ll_handed_ways(walker, context, 0);
    for (unsigned way = 0; way < 2; way++) {
        if (ways[way].context == context && ways[way].sp == 0 &&
            ways[way].pc == caller->pc && ways[way].clearing == walker->clearings) {
            return ways[way].node;
        }
    }
    uint32_t node = capture_unhanded(walker, caller);
    if (node != 0 && ll_hands_over(caller->pc)) {
        remember(ways, (struct ll_handed){.context = context,
                                          .pc = caller->pc,
                                          .node = node,
                                          .clearing = walker->clearings});
    }
    return node;
}

// Takes what the caller handed over; 0 if nothing.
LL_INLINE uint64_t begin_capture(struct ll_walker* walker) {
    if (LL_UNLIKELY(!are_current(walker))) {
        ll_walker_clear(walker);
        walker->epoch = atomic_load_explicit(&epoch, memory_order_relaxed);
    }
    return ll_handed_take();
}

uint32_t ll_frames_capture(struct ll_walker* walker, const struct ll_caller* caller) {
    uint64_t context = begin_capture(walker);
    return LL_UNLIKELY(context != 0) ? capture_handed(walker, context, caller)
                                     : capture_unhanded(walker, caller);
}

uint32_t ll_frames_capture_any_depth(struct ll_walker* walker,
                                     const struct ll_caller* caller) {
    uint64_t context = begin_capture(walker);
    return LL_UNLIKELY(context != 0) ? capture_any_depth(walker, context, caller)
                                     : capture_unhanded(walker, caller);
}
