// The walk: from the caller outwards until it meets a level that still holds, or the
// end of the stack.
#include "stack/frames.h"

#include <stdatomic.h>

#include "format/records.h"
#include "stack/levels.h"
#include "stack/sweep.h"

_Atomic uint32_t ll_frames_epoch;

void ll_frames_forget(void) {
    atomic_fetch_add(&ll_frames_epoch, 1);
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
    walker->met_special = true;
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
        ll_frames_refresh(walker);
        return ll_frames_walk(walker, caller);
    }
    walker->folded_recursion = false;
    if (LL_UNLIKELY(!ll_levels_add_frames(walker, LL_LEVELS_JOINED))) {
        // There are no levels now, so the next walk goes to the end.
        return ll_frames_walk(walker, caller);
    }
    uint32_t node = ll_level_node(walker, walker->at);
    // A memo must not bring back the outer frames of another recursion.
    if (walker->dropped == 0 && !walker->folded_recursion) {
        ll_memo_keep(walker, join, node);
    }
    return node;
}

// The frames of a walk so far, apart from the walker, so that they stay in registers.
struct trail {
    struct ll_frame* next;
    const struct ll_frame* end;
    struct ll_stack_bounds bounds;
};

static struct trail trail_of(const struct ll_walker* walker) {
    return (struct trail){walker->frames + walker->frame_count,
                          walker->frames + walker->capacity, walker->bounds};
}

static void end_trail(struct ll_walker* walker, const struct trail* trail) {
    walker->frame_count = (uint32_t)(trail->next - walker->frames);
}

uint32_t ll_frames_walk(struct ll_walker* walker, const struct ll_caller* caller) {
    struct ll_frame frame = {.sp = caller->sp, .pc = caller->pc, .rbp = caller->rbp};
    walker->frame_count = 0;
    walker->met_special = false;
    if (LL_UNLIKELY(!is_on_known_stack(walker, frame.sp))) {
        return stop_at_once(walker, caller, LL_STOP_outside_stack);
    }
    struct trail trail = trail_of(walker);
    while (!ll_levels_join(walker, frame.sp, frame.pc, frame.rbp)) {
        frame.rule = ll_rule_at(frame.pc);
        if (LL_UNLIKELY(trail.next == trail.end)) {
            end_trail(walker, &trail);
            if (!ll_walker_grow(walker)) {
                return stop_at_once(walker, caller, LL_STOP_depth);
            }
            trail = trail_of(walker);
        }
        *trail.next++ = frame;
        if (LL_UNLIKELY(!ll_frame_plain_caller(trail.bounds, &frame) ||
                        frame.pc == 0)) {
            struct ll_frame next;
            uint32_t node;
            end_trail(walker, &trail);
            if (!step_specially(walker, caller, &next, &node)) {
                return node;
            }
            trail = trail_of(walker);
            frame = next;
        }
    }
    end_trail(walker, &trail);
    return finish_at_join(walker, caller);
}
