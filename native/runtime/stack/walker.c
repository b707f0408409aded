// Walkers lie in memory of their own, which threads hand on to each other.
#include "stack/walker.h"

#include <stdatomic.h>
#include <string.h>

#include "os/memory.h"

// With this room the walker and its tables take one page, which is all that a thread
// with a shallow stack ever touches; memos and handed contexts lie behind it.
enum { CAPACITY_MIN = 32, SPARE_MAX = 64 };

LL_THREAD_LOCAL struct ll_walker* ll_own_walker;

// Its walker is given up; what it still walks, it walks with borrowed ones.
static LL_THREAD_LOCAL bool exiting;

// Walkers that no thread uses.
static struct ll_walker* _Atomic spare[SPARE_MAX];

static size_t tables_size(uint32_t capacity) {
    return capacity * (sizeof(struct ll_level) + 2 * sizeof(struct ll_proof) +
                       sizeof(struct ll_frame)) +
           LL_PROOF_STEP * sizeof(struct ll_proof);
}

// A proof that speaks of itself holds for ever.
static void prove_nothing(struct ll_proof* proof) {
    *proof = (struct ll_proof){(uintptr_t)&proof->value, 0};
}

static void lay_out(struct ll_walker* walker, void* tables, uint32_t capacity) {
    walker->capacity = capacity;
    walker->levels = tables;
    walker->frames = (struct ll_frame*)(walker->levels + capacity);
    walker->proofs = (struct ll_proof*)(walker->frames + capacity) + LL_PROOF_STEP;
    for (int i = 1; i <= LL_PROOF_STEP; i++) {
        prove_nothing(&walker->proofs[-i]);
    }
    walker->size_bytes = tables_size(capacity);
}

void ll_walker_reset(struct ll_walker* walker) {
    walker->count = 0;
    walker->at = 0;
    walker->dropped = 0;
    walker->levels[0].sp = 0;
}

void ll_walker_clear(struct ll_walker* walker) {
    ll_walker_reset(walker);
    walker->bounds = (struct ll_stack_bounds){0};
    walker->other_stacks = (struct ll_other_stacks){0};
    walker->clearings++;
    if (walker->joined_walks < LL_WALKS_BEFORE_MEMOS) {
        return;
    }
    for (unsigned i = 0; i < 1U << LL_MEMO_SET_BITS; i++) {
        for (unsigned way = 0; way < LL_MEMO_WAYS; way++) {
            walker->memos[i][way].sp = 0;
        }
    }
}

static size_t memos_size(void) {
    return sizeof(struct ll_memo[1 << LL_MEMO_SET_BITS][LL_MEMO_WAYS]);
}

static size_t walker_size(void) {
    return sizeof(struct ll_walker) + tables_size(CAPACITY_MIN) + memos_size() +
           sizeof(struct ll_handed[1 << LL_HANDED_BITS]);
}

static struct ll_walker* make(void) {
    struct ll_walker* walker = ll_memory_map(walker_size());
    if (walker != NULL) {
        lay_out(walker, walker + 1, CAPACITY_MIN);
        walker->memos = (void*)(walker->proofs + ll_walker_proofs_max(walker));
        walker->handed = (void*)((char*)walker->memos + memos_size());
    }
    return walker;
}

static bool has_grown(const struct ll_walker* walker) {
    return (const void*)walker->levels != (const void*)(walker + 1);
}

static void destroy(struct ll_walker* walker) {
    if (has_grown(walker)) {
        ll_memory_unmap(walker->levels, walker->size_bytes);
    }
    ll_memory_unmap(walker, walker_size());
}

LL_COLD struct ll_walker* ll_walker_borrow(void) {
    for (unsigned i = 0; i < SPARE_MAX; i++) {
        struct ll_walker* walker =
            atomic_load(&spare[i]) != NULL ? atomic_exchange(&spare[i], NULL) : NULL;
        if (walker != NULL) {
            ll_walker_clear(walker);
            return walker;
        }
    }
    return make();
}

static void spare_for_others(struct ll_walker* walker) {
    for (unsigned i = 0; i < SPARE_MAX; i++) {
        struct ll_walker* none = NULL;
        if (atomic_compare_exchange_strong(&spare[i], &none, walker)) {
            return;
        }
    }
    destroy(walker);
}

LL_COLD void ll_walker_give_back(struct ll_walker* walker) {
    if (ll_own_walker == NULL && !exiting) {
        ll_own_walker = walker;
    } else {
        spare_for_others(walker);
    }
}

LL_COLD bool ll_walker_grow(struct ll_walker* walker) {
    uint32_t capacity = 2 * walker->capacity;
    struct ll_walker old = *walker;
    void* tables =
        capacity <= LL_LEVELS_MAX ? ll_memory_map(tables_size(capacity)) : NULL;
    if (tables == NULL) {
        return false;
    }
    lay_out(walker, tables, capacity);
    memcpy(walker->levels, old.levels, old.capacity * sizeof *old.levels);
    memcpy(walker->frames, old.frames, old.capacity * sizeof *old.frames);
    memcpy(walker->proofs, old.proofs, ll_walker_proofs_max(&old) * sizeof *old.proofs);
    if (old.levels != (struct ll_level*)(walker + 1)) {
        ll_memory_unmap(old.levels, old.size_bytes);
    }
    return true;
}

void ll_walker_thread_exit(void) {
    struct ll_walker* walker = ll_own_walker;
    exiting = true;
    ll_own_walker = NULL;
    if (walker != NULL) {
        spare_for_others(walker);
    }
}
