// Memos of captures that left the levels as they are.
#include "stack/levels.h"

static struct ll_memo* memo_at(struct ll_walker* walker, uint64_t sp, uint64_t pc) {
    uint64_t hash = (sp ^ pc << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return &walker->memos[hash >> 32 & (LL_MEMOS - 1)];
}

// Whether the levels are still what the memo joined.
static bool joins(const struct ll_walker* walker, const struct ll_memo* memo) {
    const struct ll_level* level = &walker->levels[memo->join];
    return memo->join < walker->count && level->sp == memo->join_sp &&
           level->node == memo->join_node &&
           (!level->needs_rbp || level->rbp == memo->join_rbp);
}

uint32_t ll_memo_node(struct ll_walker* walker, const struct ll_frame* frame) {
    const struct ll_memo* memo = memo_at(walker, frame->sp, frame->pc);
    if (memo->sp != frame->sp || memo->pc != frame->pc ||
        (memo->needs_rbp && memo->rbp != frame->rbp) || !joins(walker, memo)) {
        return 0;
    }
    for (uint32_t i = 0; i < memo->proof_count; i++) {
        if (ll_stack_load(memo->proofs[i].address) != memo->proofs[i].value) {
            return 0;
        }
    }
    return ll_level_holds(walker, memo->join) ? memo->node : 0;
}

void ll_memo_keep(struct ll_walker* walker, uint32_t join, uint32_t node) {
    const struct ll_level* outer = &walker->levels[join];
    const struct ll_level* inner = &walker->levels[walker->at];
    uint32_t count = inner->proofs_end - outer->proofs_end;
    uint32_t join_node = ll_level_node(walker, join);
    if (count > LL_MEMO_PROOFS || join_node == 0 || node == 0) {
        return;
    }
    struct ll_memo* memo = memo_at(walker, inner->sp, inner->pc);
    memo->sp = inner->sp;
    memo->pc = inner->pc;
    memo->rbp = inner->rbp;
    memo->join_sp = outer->sp;
    memo->join_rbp = outer->rbp;
    memo->join = join;
    memo->join_node = join_node;
    memo->node = node;
    memo->needs_rbp = inner->needs_rbp;
    memo->proof_count = count & 0x7fffffff;
    for (uint32_t i = 0; i < count; i++) {
        memo->proofs[i] = walker->proofs[outer->proofs_end + i];
    }
}
