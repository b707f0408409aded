// The levels of a walker: joining a walk to them, adding to them, and their nodes.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"
#include "stack/trie_table.h"
#include "stack/unwind.h"
#include "stack/walker.h"

// Whether walking outwards from the level would still give the levels outside of it.
// Forgets the levels that do not hold.
bool ll_level_holds(struct ll_walker* walker, uint32_t index);

LL_INLINE bool ll_proof_holds(const struct ll_proof* proof) {
    return ll_stack_load(proof->address) == proof->value;
}

LL_INLINE bool ll_level_is_frame(const struct ll_level* level, uint64_t sp, uint64_t pc,
                                 uint64_t rbp) {
    // One branch: frames with the same stack pointer and other code are as frequent.
    uint64_t difference = (level->sp ^ sp) | (level->pc ^ pc);
    return difference == 0 && (!level->needs_rbp || level->rbp == rbp);
}

// Where the index of the level with that stack pointer is kept.
LL_INLINE uint8_t* ll_level_place(struct ll_walker* walker, uint64_t sp) {
    uint64_t hash = sp * UINT64_C(0x9e3779b97f4a7c15);
    return &walker->places[hash >> (64 - LL_PLACE_BITS)];
}

// Looks for the frame among the levels. True when it is one and holds; `walker->at` is
// then its index.
bool ll_levels_join(struct ll_walker* walker, uint64_t sp, uint64_t pc, uint64_t rbp);

// The node of a memo for this innermost frame; 0 if there is none that holds.
uint32_t ll_memo_node(struct ll_walker* walker, uint64_t pc, uint64_t sp, uint64_t rbp);

// Remembers the levels inside of level `join`, whose innermost one has `node`.
void ll_memo_keep(struct ll_walker* walker, uint32_t join, uint32_t node);

// Makes levels of the walk's frames, inside of level `walker->at` or, for
// LL_LEVELS_NONE, as the only ones. False when they cannot be remembered.
enum ll_levels_base { LL_LEVELS_NONE, LL_LEVELS_JOINED };
bool ll_levels_add_frames(struct ll_walker* walker, enum ll_levels_base base);

// The node of a level of a stack that is not folded, inside of a level with node
// `parent`. Sets `walker->folded_recursion` if need be.
uint32_t ll_level_make_child(struct ll_walker* walker, uint32_t parent, uint32_t index);
LL_INLINE uint32_t ll_level_child(struct ll_walker* walker, uint32_t parent,
                                  uint32_t index) {
    ll_node_key key = ll_node_key_of(walker->levels[index].pc, 0, 0);
    uint32_t node = ll_trie_find(parent, key);
    return LL_LIKELY(node != 0) ? node : ll_level_make_child(walker, parent, index);
}

// The node of a level as the innermost frame.
uint32_t ll_level_find_node(struct ll_walker* walker, uint32_t index);
LL_INLINE uint32_t ll_level_node(struct ll_walker* walker, uint32_t index) {
    uint32_t node = walker->levels[index].node;
    return LL_LIKELY(node != 0) ? node : ll_level_find_node(walker, index);
}

// The node of the walk's frames alone, without making levels of them.
uint32_t ll_frames_node(const struct ll_walker* walker);

// One of two values without a branch: whether a function saves rbp is as hard to
// foresee as a coin, and compilers make a branch of it.
LL_INLINE uint64_t ll_select(bool first, uint64_t a, uint64_t b) {
    __asm__("test %1, %1\n\tcmovnz %2, %0" : "+r"(b) : "r"(first), "r"(a) : "cc");
    return b;
}

// The step outwards by a plain rule: the frequent case. False, and nothing changed, for
// any other rule and when the caller would not lie on the stack. Callers on the fast
// path must not let the frame's address escape, so that it stays in registers.
LL_INLINE bool ll_frame_plain_caller(struct ll_stack_bounds bounds,
                                     struct ll_frame* frame) {
    ll_rule rule = frame->rule;
    uint64_t cfa = ll_rule_cfa_bytes(rule);
    uint64_t rbp_bytes = ll_rule_rbp_bytes(rule);
    if (LL_LIKELY(ll_rule_kind(rule) == LL_RULE_RSP)) {
        // Such rules are made only if all they speak of lies above the stack pointer.
        cfa += frame->sp;
        if (LL_UNLIKELY(cfa > bounds.high)) {
            return false;
        }
    } else if (LL_LIKELY(ll_rule_kind(rule) == LL_RULE_RBP)) {
        cfa += frame->rbp;
        if (LL_UNLIKELY(cfa <= frame->sp || cfa > bounds.high || cfa % 8 != 0 ||
                        cfa - rbp_bytes < frame->sp)) {
            return false;
        }
    } else {
        return false;
    }
    frame->sp = cfa;
    frame->pc = ll_stack_load(cfa - 8);
    uint64_t from_cfa = ll_select(rbp_bytes != 0, rbp_bytes, 8);
    frame->rbp = ll_select(rbp_bytes != 0, ll_stack_load(cfa - from_cfa), frame->rbp);
    return true;
}

// One step outwards by any rule. After a signal handler's frame the caller may lie on
// another stack than the reader's.
enum ll_step ll_frame_caller(struct ll_other_stacks* others,
                             struct ll_stack_reader* reader,
                             const struct ll_frame* frame, struct ll_frame* caller,
                             uint16_t* reason);
