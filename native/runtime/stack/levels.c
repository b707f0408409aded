// Checks levels against the stack, and makes new ones of the frames of a walk.
#include "stack/levels.h"

#include <string.h>

#include "format/records.h"
#include "stack/fold.h"

enum {
    // Levels kept of a full walker, apart from the outer ones.
    LEVELS_AFTER_DROP = LL_LEVELS_MAX / 2,
    NEAR = 8,
};

// Forgets the level to which proof `index` belongs, and all inside of it.
static LL_COLD void forget_from_proof(struct ll_walker* walker, uint32_t index) {
    uint32_t low = 0;
    uint32_t high = walker->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (walker->levels[middle].proofs_end > index) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == 0) {
        ll_walker_reset(walker);
    } else {
        walker->count = low;
        walker->at = low - 1;
    }
}

static bool proofs_hold(struct ll_walker* walker, uint32_t start, uint32_t end) {
    // The time of a capture is mostly spent here.
    const struct ll_proof* first = &walker->proofs[start];
#pragma GCC unroll 8
    for (const struct ll_proof* proof = &walker->proofs[end]; proof-- > first;) {
        if (LL_UNLIKELY(ll_stack_load(proof->address) != proof->value)) {
            forget_from_proof(walker, (uint32_t)(proof - walker->proofs));
            return false;
        }
    }
    return true;
}

// Of a stack deeper than what is kept, only the levels that are kept are checked. What
// lies between them is folded away and in no node.
bool ll_level_holds(struct ll_walker* walker, uint32_t index) {
    const struct ll_level* levels = walker->levels;
    uint32_t end = levels[index].proofs_end;
    if (LL_LIKELY(index <= ll_fold.depth + ll_fold.outer)) {
        return proofs_hold(walker, 0, end);
    }
    return proofs_hold(walker, levels[index - ll_fold.depth].proofs_end, end) &&
           proofs_hold(walker, 0, levels[ll_fold.outer].proofs_end);
}

static LL_NOINLINE uint32_t find_far_level(const struct ll_walker* walker,
                                           uint64_t sp) {
    const struct ll_level* levels = walker->levels;
    uint32_t low = 0;
    uint32_t high = walker->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (levels[middle].sp >= sp) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// The innermost level whose stack pointer is not below `sp`; it falls with the index.
// Mostly a few levels outside of the last one, or inside.
static uint32_t find_level(const struct ll_walker* walker, uint64_t sp) {
    const struct ll_level* level = &walker->levels[walker->at];
    const struct ll_level* first = walker->levels;
    if (level->sp < sp) {
        const struct ll_level* near = level - first > NEAR ? level - NEAR : first;
        while (level->sp < sp) {
            if (level == near) {
                return near == first ? 0 : find_far_level(walker, sp);
            }
            level--;
        }
        return (uint32_t)(level - first);
    }
    const struct ll_level* last = first + walker->count - 1;
    const struct ll_level* near = last - level > NEAR ? level + NEAR : last;
    while (level != near && level[1].sp >= sp) {
        level++;
    }
    return level != near || near == last ? (uint32_t)(level - first)
                                         : find_far_level(walker, sp);
}

// Levels just inside of a gap miss frames that their nodes need.
static bool misses_frames(const struct ll_walker* walker, uint32_t index) {
    return walker->dropped != 0 && index >= ll_fold.outer &&
           index < ll_fold.outer + ll_fold.depth;
}

static void forget_beyond_gap(struct ll_walker* walker) {
    walker->count = ll_fold.outer;
    walker->dropped = 0;
    walker->at = walker->count - 1;
    if (walker->count == 0) {
        ll_walker_reset(walker);
    }
}

bool ll_levels_join(struct ll_walker* walker, uint64_t sp, uint64_t pc, uint64_t rbp) {
    if (walker->count == 0) {
        return false;
    }
    walker->at = find_level(walker, sp);
    const struct ll_level* level = &walker->levels[walker->at];
    if (!ll_level_is_frame(level, sp, pc, rbp)) {
        return false;
    }
    if (LL_UNLIKELY(misses_frames(walker, walker->at))) {
        forget_beyond_gap(walker);
        return false;
    }
    return ll_level_holds(walker, walker->at);
}

static void add_proof(void* context, uintptr_t address, uint64_t value) {
    struct ll_walker* walker = context;
    if (walker->proof_count < ll_walker_proofs_max(walker)) {
        walker->proofs[walker->proof_count] = (struct ll_proof){address, value};
    }
    walker->proof_count++;
}

// Proves a step by the tables by doing it again.
static void prove_full(struct ll_walker* walker, const struct ll_frame* frame) {
    struct ll_stack_reader reader = {.bounds = walker->bounds,
                                     .wanted = LL_CAPTURE_REGISTERS,
                                     .seen = add_proof,
                                     .context = walker};
    struct ll_frame caller;
    uint16_t reason;
    ll_frame_caller(&walker->other_stacks, &reader, frame, &caller, &reason);
}

// Adds what proves that the frame's caller is `outer`, NULL for the outermost frame.
// True when that depends on the frame's rbp.
static bool prove(struct ll_walker* walker, const struct ll_frame* frame,
                  const struct ll_level* outer) {
    enum ll_rule_kind kind = ll_rule_kind(frame->rule);
    uint64_t rbp_bytes = ll_rule_rbp_bytes(frame->rule);
    if (LL_UNLIKELY(kind == LL_RULE_SPECIAL || outer == NULL)) {
        prove_full(walker, frame);
        return kind != LL_RULE_RSP;
    }
    add_proof(walker, outer->sp - 8, outer->pc);
    if (rbp_bytes != 0 && outer->needs_rbp) {
        add_proof(walker, outer->sp - rbp_bytes, outer->rbp);
    }
    return kind == LL_RULE_RBP || (rbp_bytes == 0 && outer->needs_rbp);
}

// A level of the same code in the same calling context has the same node.
static void add_level(struct ll_walker* walker, const struct ll_frame* frame,
                      bool* same_context) {
    struct ll_level* level = &walker->levels[walker->count];
    const struct ll_level* outer = walker->count == 0 ? NULL : level - 1;
    walker->proof_count = outer == NULL ? 0 : outer->proofs_end;
    *same_context = *same_context && level->pc == frame->pc;
    bool needs_rbp = prove(walker, frame, outer);
    *level = (struct ll_level){.sp = frame->sp,
                               .pc = frame->pc,
                               .rbp = frame->rbp,
                               .node = *same_context ? level->node : 0,
                               .needs_rbp = needs_rbp,
                               .proofs_end = walker->proof_count & 0x7fffffff};
    walker->count++;
}

// Forgets levels between the outer ones and the inner ones.
static void drop_middle(struct ll_walker* walker) {
    uint32_t kept = LEVELS_AFTER_DROP - walker->frame_count;
    uint32_t removed = walker->count - kept - ll_fold.outer;
    struct ll_level* gap = &walker->levels[ll_fold.outer];
    uint32_t proofs_start = gap[-1].proofs_end;
    uint32_t proofs_removed = gap[removed - 1].proofs_end - proofs_start;
    memmove(&walker->proofs[proofs_start],
            &walker->proofs[proofs_start + proofs_removed],
            (gap[removed + kept - 1].proofs_end - proofs_start - proofs_removed) *
                sizeof *walker->proofs);
    memmove(gap, gap + removed, kept * sizeof *gap);
    for (uint32_t i = 0; i < kept; i++) {
        gap[i].proofs_end -= proofs_removed & 0x7fffffff;
    }
    walker->count -= removed;
    walker->dropped += removed;
}

// Room for the frames behind the `count` levels that stay.
static bool make_room(struct ll_walker* walker) {
    while (walker->count + walker->frame_count > walker->capacity) {
        if (ll_walker_grow(walker)) {
            continue;
        }
        if (walker->capacity < LL_LEVELS_MAX || ll_fold.outer == 0 ||
            walker->frame_count >= LEVELS_AFTER_DROP / 2) {
            return false;
        }
        drop_middle(walker);
    }
    return true;
}

bool ll_levels_add_frames(struct ll_walker* walker, enum ll_levels_base base) {
    uint32_t known = walker->count;
    if (walker->frame_count == 0) {
        return true;
    }
    if (base == LL_LEVELS_NONE) {
        ll_walker_reset(walker);
    } else {
        walker->count = walker->at + 1;
    }
    if (walker->count <= ll_fold.outer) {
        walker->dropped = 0;
    }
    if (!make_room(walker)) {
        ll_walker_reset(walker);
        return false;
    }
    bool same_context = base == LL_LEVELS_JOINED;
    for (uint32_t i = walker->frame_count; i-- > 0;) {
        same_context = same_context && walker->count < known && walker->dropped == 0;
        add_level(walker, &walker->frames[i], &same_context);
    }
    walker->at = walker->count - 1;
    bool fits = walker->proof_count <= ll_walker_proofs_max(walker);
    if (LL_UNLIKELY(!fits)) {
        ll_walker_reset(walker);
        ll_walker_grow(walker);
    }
    return fits;
}

// A step by the tables, with what a capture knows of the registers.
static enum ll_step special_caller(struct ll_other_stacks* others,
                                   struct ll_stack_reader* reader,
                                   const struct ll_frame* frame,
                                   struct ll_frame* caller, uint16_t* reason) {
    struct ll_unwind_state state = {.known = LL_CAPTURE_REGISTERS,
                                    .flags = frame->flags};
    state.registers[LL_RSP] = frame->sp;
    state.registers[LL_RBP] = frame->rbp;
    state.registers[LL_CFI_RETURN_ADDRESS] = frame->pc;
    enum ll_step step = ll_unwind_caller(others, reader, &state, reason);
    *caller = (struct ll_frame){.sp = state.registers[LL_RSP],
                                .pc = state.registers[LL_CFI_RETURN_ADDRESS],
                                .rbp = state.registers[LL_RBP],
                                .flags = state.flags};
    return step;
}

LL_COLD enum ll_step ll_frame_caller(struct ll_other_stacks* others,
                                     struct ll_stack_reader* reader,
                                     const struct ll_frame* frame,
                                     struct ll_frame* caller, uint16_t* reason) {
    ll_rule rule = frame->rule;
    if (ll_rule_kind(rule) == LL_RULE_SPECIAL) {
        return ll_rule_special(rule) == LL_RULE_END
                   ? LL_STEP_END
                   : special_caller(others, reader, frame, caller, reason);
    }
    *caller = *frame;
    uint64_t base = ll_rule_kind(rule) == LL_RULE_RSP ? frame->sp : frame->rbp;
    uint64_t cfa = base + ll_rule_cfa_bytes(rule);
    if (!ll_frame_plain_caller(reader->bounds, caller) &&
        !(ll_bounds_widen(others, cfa - 8, &reader->bounds) &&
          ll_frame_plain_caller(reader->bounds, caller))) {
        *reason = LL_STOP_outside_stack;
        return LL_STEP_STOPPED;
    }
    if (reader->seen != NULL) {
        reader->seen(reader->context, caller->sp - 8, caller->pc);
    }
    return caller->pc != 0 ? LL_STEP_CALLER : LL_STEP_END;
}
