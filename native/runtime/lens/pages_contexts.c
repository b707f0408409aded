#include "lens/pages_contexts.h"

#include "heap/aged.h"
#include "heap/arena.h"
#include "heap/heap.h"
#include "heap/page_states.h"
#include "os/lock.h"
#include "os/memory.h"
#include "stack/stack.h"

enum {
    CONTEXT_BITS = 16,
    CONTEXTS = 1 << CONTEXT_BITS,
    MEMO_BITS = 15,
    MEMOS = 1 << MEMO_BITS,
    DEPTH_MAX = 32,
    // Places in the list of candidates, for each block that has to be alive.
    CANDIDATES_PER_BLOCK = 4,
};

// `hash` tells a context from others; 0: the place in the table is free.
struct context {
    uint64_t hash;
    struct ll_aged aged;
    uint32_t is_aged; // has spans of its own
    uint32_t born;    // blocks in the common heap so far
    struct ll_lock lock;
    uint32_t candidate_count;
    void** candidates; // blocks that may be alive, hashed by address; NULL: none yet
};

// The context of a site, found before: site and index in the table.
typedef uint64_t memo;

static struct ll_arena arena; // lists of candidates
static struct ll_lock arena_lock;
static struct context* contexts;
static uint32_t context_count;
static memo* memos;
static unsigned context_depth;
static unsigned threshold;

static uint64_t mix(uint64_t hash, uint64_t pc) {
    hash = (hash ^ pc) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(ll_site site) {
    struct ll_node node;
    uint64_t hash = 1;
    for (unsigned i = 0; i < context_depth && ll_node_get(site, &node); i++) {
        hash = mix(hash, node.pc);
        site = node.parent;
    }
    return hash | 1;
}

// The place of a context in the table, taken if it is new. When most of the table is
// in use, contexts stay in the common heap: NULL.
static struct context* find_by_hash(uint64_t hash) {
    for (uint32_t i = (uint32_t)(hash >> (64 - CONTEXT_BITS));;
         i = (i + 1) % CONTEXTS) {
        uint64_t found = __atomic_load_n(&contexts[i].hash, __ATOMIC_RELAXED);
        if (found == hash) {
            return &contexts[i];
        }
        if (found != 0) {
            continue;
        }
        if (__atomic_load_n(&context_count, __ATOMIC_RELAXED) > CONTEXTS / 4 * 3) {
            return NULL;
        }
        if (__atomic_compare_exchange_n(&contexts[i].hash, &found, hash, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_add_fetch(&context_count, 1, __ATOMIC_RELAXED);
            return &contexts[i];
        }
        if (found == hash) {
            return &contexts[i];
        }
    }
}

static LL_NOINLINE struct context* find_slowly(ll_site site, memo* place) {
    struct context* context = find_by_hash(hash_of(site));
    if (context != NULL) {
        uint64_t index = (uint64_t)(context - contexts);
        __atomic_store_n(place, (uint64_t)site << 32 | index, __ATOMIC_RELAXED);
    }
    return context;
}

static struct context* find(ll_site site) {
    memo* place = &memos[(uint32_t)(site * UINT32_C(0x9e3779b1)) >> (32 - MEMO_BITS)];
    memo known = __atomic_load_n(place, __ATOMIC_RELAXED);
    return LL_LIKELY(known >> 32 == site && site != 0) ? &contexts[(uint32_t)known]
                                                       : find_slowly(site, place);
}

static void* allocate(unsigned class, size_t size_bytes, ll_site site, bool* is_fresh) {
    struct context* context = find(site);
    bool is_aged =
        context != NULL && __atomic_load_n(&context->is_aged, __ATOMIC_RELAXED) != 0;
    return is_aged ? ll_aged_allocate(&context->aged, class, size_bytes, site, is_fresh)
                   : NULL;
}

static bool is_alive(const struct context* context, void* block) {
    return ll_heap_is_block(block) && find(ll_heap_site(block)) == context;
}

static uint32_t place_of(const void* block) {
    uint64_t hash = ((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

// Lists a block; it may be listed already, if it lies where a block of the same context
// lay before. Without a place nearby it is left out.
static void list(struct context* context, void* block) {
    enum { NEARBY = 4 };
    uint32_t size = CANDIDATES_PER_BLOCK * threshold;
    for (uint32_t i = 0; i < NEARBY; i++) {
        void** candidate = &context->candidates[(place_of(block) + i) % size];
        if (*candidate == block) {
            return;
        }
        if (*candidate == NULL) {
            context->candidate_count++;
        }
        if (*candidate == NULL || !is_alive(context, *candidate)) {
            *candidate = block;
            return;
        }
    }
}

static void forget_freed(struct context* context) {
    for (uint32_t i = 0; i < CANDIDATES_PER_BLOCK * threshold; i++) {
        void** candidate = &context->candidates[i];
        if (*candidate != NULL && !is_alive(context, *candidate)) {
            *candidate = NULL;
            context->candidate_count--;
        }
    }
}

static void make_candidates(struct context* context) {
    size_t size = CANDIDATES_PER_BLOCK * threshold * sizeof(void*);
    uint64_t mask = ll_lock_take_masked(&arena_lock);
    context->candidates = ll_arena_take(&arena, size);
    ll_lock_drop_masked(&arena_lock, mask);
}

// So many births came first; fewer blocks than that cannot be alive in such number.
static void add_candidate(struct context* context, void* block) {
    if (context->candidates == NULL) {
        make_candidates(context);
    }
    if (context->candidates == NULL) {
        return;
    }
    list(context, block);
    if (context->candidate_count >= 2 * threshold) {
        forget_freed(context);
        bool are_enough = context->candidate_count >= threshold;
        __atomic_store_n(&context->is_aged, are_enough, __ATOMIC_RELAXED);
    }
}

static void settled_in_common(void* block, size_t size_bytes, ll_site site) {
    ll_page_states_born((uintptr_t)block, size_bytes);
    struct context* context = find(site);
    if (context == NULL || context->is_aged || !ll_lock_try(&context->lock)) {
        return;
    }
    if (++context->born >= threshold) {
        add_candidate(context, block);
    }
    ll_lock_drop(&context->lock);
}

bool ll_page_contexts_start(unsigned depth, unsigned live_blocks) {
    static const struct ll_segregation rules = {allocate, settled_in_common};
    context_depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
    threshold = live_blocks > 0 ? live_blocks : 1;
    contexts = ll_memory_map(CONTEXTS * sizeof *contexts);
    memos = ll_memory_map(MEMOS * sizeof *memos);
    if (contexts == NULL || memos == NULL || !ll_aged_start() ||
        !ll_arena_start(&arena, (size_t)4 << 30)) {
        return false;
    }
    ll_heap_segregate(&rules);
    return true;
}
