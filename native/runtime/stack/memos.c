// Memos of captures that left the levels as they are.
#include "stack/levels.h"

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

uint32_t ll_memo_node(struct ll_walker* walker, uint64_t pc, uint64_t sp,
                      uint64_t rbp) {
    if (LL_UNLIKELY(walker->joined_walks < LL_WALKS_BEFORE_MEMOS)) {
        return 0;
    }
    const struct ll_memo* ways = walker->memos[set_of(sp, pc)];
    for (unsigned way = 0; way < LL_MEMO_WAYS; way++) {
        const struct ll_memo* memo = &ways[way];
        uint64_t difference = (memo->sp ^ sp) | (memo->pc ^ pc);
        if (difference == 0 && (!memo->needs_rbp || memo->rbp == rbp) &&
            holds(walker, memo)) {
            return memo->node;
        }
    }
    return 0;
}

static struct ll_memo* victim(struct ll_walker* walker, const struct ll_level* inner) {
    unsigned set = set_of(inner->sp, inner->pc);
    return &walker->memos[set][walker->memo_victims[set]++ % LL_MEMO_WAYS];
}

// By loads as wide as the stores that were just made: wider ones would wait for them.
static void copy_proofs(struct ll_proof* to, const struct ll_proof* from) {
    for (unsigned i = 0; i < LL_MEMO_PROOFS; i++) {
        to[i].address = from[i].address;
        to[i].value = from[i].value;
    }
}

void ll_memo_keep(struct ll_walker* walker, uint32_t join, uint32_t node) {
    if (walker->joined_walks < LL_WALKS_BEFORE_MEMOS) {
        walker->joined_walks++;
        return;
    }
    const struct ll_level* inner = &walker->levels[walker->at];
    uint32_t proofs_end = inner->proofs_end;
    if (proofs_end - walker->levels[join].proofs_end > LL_MEMO_PROOFS ||
        proofs_end < LL_MEMO_PROOFS) {
        return;
    }
    const struct ll_level* outer = &walker->levels[join];
    uint32_t join_node = ll_level_node(walker, join);
    if (join_node == 0 || node == 0) {
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
    copy_proofs(memo->proofs, &walker->proofs[proofs_end - LL_MEMO_PROOFS]);
}
