// Checks levels against the stack, and joins walks to them.
#include "stack/levels.h"

#include "format/records.h"
#include "stack/fold.h"

// How far from the last level one is looked for step by step.
enum { NEAR = 8 };

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

static LL_COLD void forget_what_fails(struct ll_walker* walker, uint32_t end) {
    while (ll_proof_holds(&walker->proofs[end - 1])) {
        end--;
    }
    forget_from_proof(walker, end - 1);
}

// Spelt out, since gcc does not unroll such a loop when it optimises across files.
LL_INLINE bool step_holds(const struct ll_proof* step) {
    return ll_proof_holds(&step[7]) && ll_proof_holds(&step[6]) &&
           ll_proof_holds(&step[5]) && ll_proof_holds(&step[4]) &&
           ll_proof_holds(&step[3]) && ll_proof_holds(&step[2]) &&
           ll_proof_holds(&step[1]) && ll_proof_holds(&step[0]);
}

// All proofs before `end`. The time of a capture is mostly spent here: by steps of one
// size, since the processor would guess wrong how many there are left over.
LL_INLINE bool proofs_hold(struct ll_walker* walker, uint32_t end) {
    const struct ll_proof* first = walker->proofs;
    for (const struct ll_proof* proof = first + end; proof > first;) {
        proof -= LL_PROOF_STEP;
        if (LL_UNLIKELY(!step_holds(proof))) {
            forget_what_fails(walker, end);
            return false;
        }
    }
    return true;
}

static LL_COLD bool inner_proofs_hold(struct ll_walker* walker, uint32_t start,
                                      uint32_t end) {
    for (uint32_t i = end; i-- > start;) {
        if (!ll_proof_holds(&walker->proofs[i])) {
            forget_from_proof(walker, i);
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
        return proofs_hold(walker, end);
    }
    return inner_proofs_hold(walker, levels[index - ll_fold.depth].proofs_end, end) &&
           proofs_hold(walker, levels[ll_fold.outer].proofs_end);
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

// The one level that can be the frame with that stack pointer. Two levels may share a
// place: the outer one is then not found, and the walk goes on to the next. May be an
// index behind the levels.
LL_INLINE uint32_t level_with(struct ll_walker* walker, uint64_t sp) {
    return LL_LIKELY(walker->count <= LL_PLACED_LEVELS) ? *ll_level_place(walker, sp)
                                                        : find_level(walker, sp);
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
    uint32_t index = level_with(walker, sp);
    const struct ll_level* level = &walker->levels[index];
    // One test, since one of them is as hard to foresee as all.
    if (!((index < walker->count) & (level->sp == sp) & (level->pc == pc) &
          (!level->needs_rbp | (level->rbp == rbp)))) {
        return false;
    }
    walker->at = index;
    if (LL_UNLIKELY(misses_frames(walker, walker->at))) {
        forget_beyond_gap(walker);
        return false;
    }
    return ll_level_holds(walker, walker->at);
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
