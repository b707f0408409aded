// Makes levels of the frames of a walk, with their proofs and nodes.
#include <string.h>

#include "stack/fold.h"
#include "stack/levels.h"

// Levels kept of a full walker, apart from the outer ones.
enum { LEVELS_AFTER_DROP = LL_LEVELS_MAX / 2 };

LL_INLINE void keep_place(struct ll_walker* walker, uint32_t index, uint64_t sp) {
    if (LL_LIKELY(index < LL_PLACED_LEVELS)) {
        *ll_level_place(walker, sp) = (uint8_t)index;
    }
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

// Proves a frame that was found by the tables, or the outermost one. Returns the end of
// the proofs.
static LL_COLD uint32_t prove_special(struct ll_walker* walker, uint32_t proofs_end,
                                      struct ll_level* level,
                                      const struct ll_frame* frame) {
    walker->proof_count = proofs_end;
    prove_full(walker, frame);
    level->needs_rbp = ll_rule_kind(frame->rule) != LL_RULE_RSP;
    level->proofs_end = walker->proof_count & 0x7fffffff;
    return walker->proof_count;
}

// The same for a plain frame inside of others; there is room for two proofs.
LL_INLINE uint32_t prove_plain(struct ll_proof* proofs, uint32_t proofs_end,
                               struct ll_level* level, ll_rule rule) {
    const struct ll_level* outer = level - 1;
    bool needs_rbp = ll_rule_kind(rule) == LL_RULE_RBP;
    proofs[proofs_end++] = (struct ll_proof){outer->sp - 8, outer->pc};
    if (outer->needs_rbp) {
        uint64_t rbp_bytes = ll_rule_rbp_bytes(rule);
        if (rbp_bytes != 0) {
            proofs[proofs_end++] = (struct ll_proof){outer->sp - rbp_bytes, outer->rbp};
        } else {
            needs_rbp = true;
        }
    }
    level->needs_rbp = needs_rbp;
    level->proofs_end = proofs_end & 0x7fffffff;
    return proofs_end;
}

// Whether there is room for the proofs of so many plain frames.
LL_INLINE bool proofs_fit(const struct ll_walker* walker, uint32_t proofs_end,
                          size_t frames) {
    return LL_LIKELY(proofs_end + 2 * frames <= ll_walker_proofs_max(walker));
}

// Makes levels of the walk's frames behind those that stay. Up to level `known` a level
// of the same code in the same calling context has the same node as before. Of others
// the node is looked up if the stack is not folded and the caller's is known: nearly
// always; otherwise when somebody asks. False when the proofs have no room. A walk
// spends much of its time here: what changes from frame to frame stays in registers.
static bool write_levels(struct ll_walker* walker, uint32_t known) {
    struct ll_level* const levels = walker->levels;
    const struct ll_frame* const frames = walker->frames;
    uint32_t unfolded = walker->dropped == 0 ? ll_fold.depth : 0;
    uint32_t index = walker->count;
    uint32_t proofs_end = index != 0 ? levels[index - 1].proofs_end : 0;
    uint32_t node = index != 0 ? levels[index - 1].node : 0;
    bool fits = proofs_fit(walker, proofs_end, walker->frame_count);
    for (uint32_t left = walker->frame_count; fits && left-- > 0; index++) {
        struct ll_level* level = &levels[index];
        const struct ll_frame* frame = &frames[left];
        known = index < known && level->pc == frame->pc ? known : 0;
        level->sp = frame->sp;
        level->pc = frame->pc;
        level->rbp = frame->rbp;
        if (LL_LIKELY(ll_rule_kind(frame->rule) != LL_RULE_SPECIAL && index != 0)) {
            proofs_end = prove_plain(walker->proofs, proofs_end, level, frame->rule);
        } else {
            proofs_end = prove_special(walker, proofs_end, level, frame);
            fits = proofs_fit(walker, proofs_end, left);
        }
        uint32_t parent = index < unfolded ? node : 0;
        node = known != 0 ? level->node : 0;
        if (node == 0 && parent != 0) {
            node = ll_level_child(walker, parent, index);
        }
        level->node = node;
        keep_place(walker, index, level->sp);
    }
    walker->count = index;
    return fits;
}

// The same for a walk as most are: over plain frames, to a join with a node, on a stack
// that is not folded. False, with nothing done, for all others.
static bool write_plain_levels(struct ll_walker* walker) {
    uint32_t index = walker->count;
    uint32_t end = index + walker->frame_count;
    struct ll_level* level = &walker->levels[index];
    uint32_t proofs_end = level[-1].proofs_end;
    uint32_t node = level[-1].node;
    if (LL_UNLIKELY(walker->met_special || walker->dropped != 0 || node == 0 ||
                    end > ll_fold.depth || end > LL_PLACED_LEVELS ||
                    !proofs_fit(walker, proofs_end, walker->frame_count))) {
        return false;
    }
    const struct ll_frame* frame = &walker->frames[walker->frame_count];
    struct ll_proof* proofs = walker->proofs;
    for (; index < end; index++, level++) {
        frame--;
        level->sp = frame->sp;
        level->pc = frame->pc;
        level->rbp = frame->rbp;
        proofs_end = prove_plain(proofs, proofs_end, level, frame->rule);
        if (LL_LIKELY(node != 0)) {
            node = ll_level_child(walker, node, index);
        }
        level->node = node;
        *ll_level_place(walker, frame->sp) = (uint8_t)index;
    }
    walker->count = end;
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
    bool is_joined = base == LL_LEVELS_JOINED;
    bool fits = (is_joined && write_plain_levels(walker)) ||
                write_levels(walker, is_joined && walker->dropped == 0 ? known : 0);
    walker->at = walker->count - 1;
    if (LL_UNLIKELY(!fits)) {
        ll_walker_reset(walker);
        ll_walker_grow(walker);
    }
    return fits;
}
