// Memos of captures that left the levels as they are.
#include "stack/levels.h"

#include <string.h>

static unsigned set_of(uint64_t sp, uint64_t pc) {
    uint64_t hash = (sp ^ pc << 24) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> (64 - LL_MEMO_SET_BITS));
}

// Whether the levels are still what the memo joined.
static bool joins(const struct ll_walker* walker, const struct ll_memo* memo) {
    const struct ll_level* level = &walker->levels[memo->join];
    return (memo->join < walker->count) & (level->sp == memo->join_sp) &
           (level->node == memo->join_node) &
           (!level->needs_rbp | (level->rbp == memo->join_rbp));
}

static bool holds(struct ll_walker* walker, const struct ll_memo* memo) {
    if (!joins(walker, memo)) {
        return false;
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < LL_MEMO_PROOFS; i++) {
        if (!ll_proof_holds(&memo->proofs[i])) {
            return false;
        }
    }
    return ll_level_holds(walker, memo->join);
}

uint32_t ll_memo_node(struct ll_walker* walker, const struct ll_caller* caller) {
    if (walker->joined_walks < LL_WALKS_BEFORE_MEMOS) {
        return 0;
    }
    struct ll_memo* ways = walker->memos[set_of(caller->sp, caller->pc)];
    for (unsigned way = 0; way < LL_MEMO_WAYS; way++) {
        const struct ll_memo* memo = &ways[way];
        if (memo->sp == caller->sp && memo->pc == caller->pc &&
            (!memo->needs_rbp || memo->rbp == caller->rbp) && holds(walker, memo)) {
            return memo->node;
        }
    }
    return 0;
}

static struct ll_memo* victim(struct ll_walker* walker, const struct ll_level* inner) {
    unsigned set = set_of(inner->sp, inner->pc);
    return &walker->memos[set][walker->memo_victims[set]++ % LL_MEMO_WAYS];
}

void ll_memo_keep(struct ll_walker* walker, uint32_t join, uint32_t node) {
    if (walker->joined_walks < LL_WALKS_BEFORE_MEMOS) {
        walker->joined_walks++;
        return;
    }
    const struct ll_level* outer = &walker->levels[join];
    const struct ll_level* inner = &walker->levels[walker->at];
    uint32_t count = inner->proofs_end - outer->proofs_end;
    uint32_t join_node = ll_level_node(walker, join);
    if (count > LL_MEMO_PROOFS || inner->proofs_end < LL_MEMO_PROOFS ||
        join_node == 0 || node == 0) {
        return;
    }
    struct ll_memo* memo = victim(walker, inner);
    memo->sp = inner->sp;
    memo->pc = inner->pc;
    memo->rbp = inner->rbp;
    memo->join_sp = outer->sp;
    memo->join_rbp = outer->rbp;
    memo->join = join;
    memo->join_node = join_node;
    memo->node = node;
    memo->needs_rbp = inner->needs_rbp;
    memcpy(memo->proofs, &walker->proofs[inner->proofs_end - LL_MEMO_PROOFS],
           sizeof memo->proofs);
}
