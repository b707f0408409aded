// The walk: from the caller outwards until it meets a level that still holds, or the
// end of the stack.
#include "stack/frames.h"

#include <stdatomic.h>

#include "format/records.h"
#include "stack/levels.h"

// Counts unloads of code.
static _Atomic uint32_t epoch;

void ll_frames_forget(void) {
    atomic_fetch_add(&epoch, 1);
}

static const ll_rule FULL_RULE = LL_RULE_SPECIAL | LL_RULE_FULL << 2;

bool ll_frame_keep(struct ll_walker* walker, const struct ll_frame* frame) {
    if (LL_UNLIKELY(walker->frame_count == walker->capacity) &&
        !ll_walker_grow(walker)) {
        return false;
    }
    walker->frames[walker->frame_count++] = *frame;
    return true;
}

void ll_frames_set_outermost(struct ll_walker* walker, enum ll_step last,
                             uint16_t reason) {
    walker->outermost = (struct ll_outermost){0};
    if (last != LL_STEP_END) {
        walker->outermost.flags = LL_NODE_stopped;
        walker->outermost.reason =
            last == LL_STEP_STOPPED ? reason : (uint16_t)LL_STOP_expression;
    }
}

// Goes on outwards through the frame of a signal handler. Such a walk leaves no levels:
// the handler may run on another stack, and soon be gone.
static LL_COLD uint32_t walk_out_of_handler(struct ll_walker* walker,
                                            struct ll_frame frame) {
    struct ll_stack_reader reader = {.bounds = walker->bounds};
    enum ll_step step = LL_STEP_CALLER;
    uint16_t reason = LL_STOP_none;
    walker->frames[walker->frame_count - 1].flags |= LL_NODE_signal;
    while (step == LL_STEP_CALLER) {
        frame.rule = frame.flags & LL_NODE_exact_pc ? FULL_RULE : ll_rule_at(frame.pc);
        if (!ll_frame_keep(walker, &frame)) {
            step = LL_STEP_STOPPED;
            reason = LL_STOP_depth;
            break;
        }
        if (!ll_bounds_contain(reader.bounds, frame.sp) &&
            !ll_bounds_at(frame.sp, &reader.bounds)) {
            step = LL_STEP_STOPPED;
            reason = LL_STOP_outside_stack;
            break;
        }
        step = ll_frame_caller(&reader, &walker->frames[walker->frame_count - 1],
                               &frame, &reason);
        if (step == LL_STEP_CALLER && frame.flags & LL_NODE_exact_pc) {
            walker->frames[walker->frame_count - 1].flags |= LL_NODE_signal;
        }
    }
    ll_frames_set_outermost(walker, step, reason);
    return ll_frames_node(walker);
}

static bool is_on_known_stack(struct ll_walker* walker, uintptr_t sp) {
    if (LL_LIKELY(ll_bounds_contain(walker->bounds, sp))) {
        return true;
    }
    ll_walker_reset(walker);
    return ll_bounds_at(sp, &walker->bounds);
}

// The walk's frames become levels, and the innermost one's node is the result.
static uint32_t finish(struct ll_walker* walker, enum ll_levels_base base) {
    if (ll_levels_add_frames(walker, base)) {
        return ll_level_node(walker, walker->at);
    }
    return ll_frames_node(walker);
}

static uint32_t walk(struct ll_walker* walker, const struct ll_caller* caller) {
    struct ll_frame frame = {.sp = caller->sp, .pc = caller->pc, .rbp = caller->rbp};
    uint16_t reason = LL_STOP_outside_stack;
    enum ll_step step = LL_STEP_STOPPED;
    walker->frame_count = 0;
    if (LL_UNLIKELY(!is_on_known_stack(walker, frame.sp))) {
        ll_frame_keep(walker, &frame);
        ll_frames_set_outermost(walker, step, reason);
        return ll_frames_node(walker);
    }
    struct ll_stack_reader reader = {.bounds = walker->bounds};
    do {
        if (ll_levels_join(walker, &frame)) {
            return finish(walker, LL_LEVELS_JOINED);
        }
        frame.rule = ll_rule_at(frame.pc);
        if (LL_UNLIKELY(!ll_frame_keep(walker, &frame))) {
            ll_frames_set_outermost(walker, LL_STEP_STOPPED, LL_STOP_depth);
            return finish(walker, LL_LEVELS_NONE);
        }
        step = ll_frame_caller(&reader, &walker->frames[walker->frame_count - 1],
                               &frame, &reason);
        if (LL_UNLIKELY(frame.flags != 0 && step == LL_STEP_CALLER)) {
            return walk_out_of_handler(walker, frame);
        }
    } while (step == LL_STEP_CALLER);
    if (step == LL_STEP_NEEDS_REGISTER ||
        (step == LL_STEP_STOPPED && reason == LL_STOP_expression)) {
        return ll_frames_capture_fully(walker, caller);
    }
    ll_frames_set_outermost(walker, step, reason);
    return finish(walker, LL_LEVELS_NONE);
}

uint32_t ll_frames_capture(struct ll_walker* walker, const struct ll_caller* caller) {
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    if (LL_UNLIKELY(walker->epoch != now)) {
        ll_walker_reset(walker);
        walker->epoch = now;
    }
    const struct ll_level* level = &walker->levels[walker->at];
    if (LL_LIKELY(ll_level_is_frame(level, caller->sp, caller->pc, caller->rbp)) &&
        LL_LIKELY(level->node != 0) && LL_LIKELY(ll_level_holds(walker, walker->at))) {
        return level->node;
    }
    return walk(walker, caller);
}
