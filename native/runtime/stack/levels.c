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

static LL_COLD void forget_what_fails(struct ll_walker* walker, uint32_t end) {
    while (ll_proof_holds(&walker->proofs[end - 1])) {
        end--;
    }
    forget_from_proof(walker, end - 1);
}

// All proofs before `end`. The time of a capture is mostly spent here: by steps of one
// size, since the processor would guess wrong how many there are left over.
LL_INLINE bool proofs_hold(struct ll_walker* walker, uint32_t end) {
    const struct ll_proof* first = walker->proofs;
    for (const struct ll_proof* proof = first + end; proof > first;) {
        proof -= LL_PROOF_STEP;
#pragma GCC unroll 8
        for (int i = LL_PROOF_STEP - 1; i >= 0; i--) {
            if (LL_UNLIKELY(!ll_proof_holds(&proof[i]))) {
                forget_what_fails(walker, end);
                return false;
            }
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

// Level indexes fit a byte where there are places for them.
_Static_assert(LL_PLACED_LEVELS <= UINT8_MAX + 1, "a place holds any placed level");

LL_INLINE uint8_t* place_of(struct ll_walker* walker, uint64_t sp) {
    uint64_t hash = sp * UINT64_C(0x9e3779b97f4a7c15);
    return &walker->places[hash >> (64 - LL_PLACE_BITS)];
}

LL_INLINE void keep_place(struct ll_walker* walker, const struct ll_level* level) {
    uint32_t index = (uint32_t)(level - walker->levels);
    if (LL_LIKELY(index < LL_PLACED_LEVELS)) {
        *place_of(walker, level->sp) = (uint8_t)index;
    }
}

// The one level that can be the frame with that stack pointer. Two levels may share a
// place: the outer one is then not found, and the walk goes on to the next. May be an
// index behind the levels.
LL_INLINE uint32_t level_with(struct ll_walker* walker, uint64_t sp) {
    return LL_LIKELY(walker->count <= LL_PLACED_LEVELS) ? *place_of(walker, sp)
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

// Writes the level of a frame that was found by the tables, or of the outermost one.
// False when its proofs have no room.
static LL_COLD bool write_special(struct ll_walker* walker, struct ll_level* level,
                                  const struct ll_frame* frame, uint32_t node) {
    walker->proof_count = level == walker->levels ? 0 : level[-1].proofs_end;
    prove_full(walker, frame);
    *level = (struct ll_level){.sp = frame->sp,
                               .pc = frame->pc,
                               .rbp = frame->rbp,
                               .node = node,
                               .needs_rbp = ll_rule_kind(frame->rule) != LL_RULE_RSP,
                               .proofs_end = walker->proof_count & 0x7fffffff};
    return walker->proof_count <= ll_walker_proofs_max(walker);
}

// The same for a plain frame inside of others: a walk spends much of its time here.
LL_INLINE bool write_plain(struct ll_walker* walker, struct ll_level* level,
                           const struct ll_frame* frame, uint32_t node) {
    const struct ll_level* outer = level - 1;
    uint64_t rbp_bytes = ll_rule_rbp_bytes(frame->rule);
    bool needs_rbp = ll_rule_kind(frame->rule) == LL_RULE_RBP;
    uint32_t proofs_end = outer->proofs_end;
    if (LL_UNLIKELY(proofs_end + 2 > ll_walker_proofs_max(walker))) {
        return false;
    }
    walker->proofs[proofs_end++] = (struct ll_proof){outer->sp - 8, outer->pc};
    if (outer->needs_rbp && rbp_bytes != 0) {
        walker->proofs[proofs_end++] =
            (struct ll_proof){outer->sp - rbp_bytes, outer->rbp};
    } else if (outer->needs_rbp) {
        needs_rbp = true;
    }
    level->sp = frame->sp;
    level->pc = frame->pc;
    level->rbp = frame->rbp;
    level->node = node;
    level->needs_rbp = needs_rbp;
    level->proofs_end = proofs_end & 0x7fffffff;
    return true;
}

// The node of a level just written, if its stack is not folded and its caller's node is
// known: nearly always. Otherwise it is looked up when somebody asks.
LL_INLINE void look_up_node(struct ll_walker* walker, struct ll_level* level) {
    uint32_t index = (uint32_t)(level - walker->levels);
    if (LL_LIKELY(index < ll_fold.depth && walker->dropped == 0) && index != 0 &&
        level[-1].node != 0) {
        level->node = ll_level_child(walker, level[-1].node, index);
    }
}

// Makes levels of the walk's frames behind those that stay. Up to level `known` a level
// of the same code in the same calling context has the same node as before. False when
// their proofs have no room.
static bool write_levels(struct ll_walker* walker, uint32_t known) {
    struct ll_level* level = &walker->levels[walker->count];
    const struct ll_level* known_end = &walker->levels[known];
    const struct ll_frame* frame = &walker->frames[walker->frame_count];
    bool same_context = true;
    while (frame-- > walker->frames) {
        same_context = same_context && level < known_end && level->pc == frame->pc;
        uint32_t node = same_context ? level->node : 0;
        bool is_plain =
            ll_rule_kind(frame->rule) != LL_RULE_SPECIAL && level != walker->levels;
        bool fits = LL_LIKELY(is_plain) ? write_plain(walker, level, frame, node)
                                        : write_special(walker, level, frame, node);
        if (LL_UNLIKELY(!fits)) {
            return false;
        }
        if (node == 0) {
            look_up_node(walker, level);
        }
        keep_place(walker, level);
        level++;
    }
    walker->count += walker->frame_count;
    return true;
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
    bool may_reuse_nodes = base == LL_LEVELS_JOINED && walker->dropped == 0;
    bool fits = write_levels(walker, may_reuse_nodes ? known : 0);
    walker->at = walker->count - 1;
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
