#include "lens/pages_contexts.h"

#include "heap/aged.h"
#include "heap/arena.h"
#include "heap/heap.h"
#include "heap/page_states.h"
#include "heap/quick.h"
#include "lens/pages_candidates.h"
#include "os/memory.h"
#include "stack/stack.h"

enum {
    FIRST_BITS = 10, // of the first table; each next one is four times as large
    STEP_BITS = 2,
    TABLES = 4,
    ENTRIES = ((1 << TABLES * STEP_BITS) - 1) / ((1 << STEP_BITS) - 1) << FIRST_BITS,
    CONTEXTS = ENTRIES / 4 * 3,
    NUMBER_BITS = 16,
    CONTEXT_NUMBERS = 1 << NUMBER_BITS,
    DEPTH_MAX = 32,
};
_Static_assert(CONTEXTS <= CONTEXT_NUMBERS, "each context has a number of its own");

struct context {
    struct ll_aged aged;
    uint32_t is_aged; // has pages of its own
    struct ll_candidates candidates;
};

// A context in the table: what tells it from others, and its number; 0: none.
typedef uint64_t entry;

static struct context* contexts; // in order of their first block
static uint32_t context_count;
// Of several tables, one behind the other, so that few contexts take little memory. New
// contexts go into the last of those that the ones before it do not suffice for.
static entry* entries;
// The number of each site's context; 0: not known yet.
static struct ll_arena site_arena;
static struct ll_lock site_lock; // never waited for
static size_t site_count;
static unsigned context_depth;

static uint64_t mix(uint64_t hash, uint64_t pc) {
    hash = (hash ^ pc) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(ll_site site) {
    uintptr_t pc;
    uint64_t hash = 1;
    for (unsigned i = 0; i < context_depth && ll_node_step(site, &pc, &site); i++) {
        hash = mix(hash, pc);
    }
    return hash | (uint64_t)1 << NUMBER_BITS;
}

// The number for a new context; 0 when there are too many.
static uint32_t take_number(void) {
    if (__atomic_load_n(&context_count, __ATOMIC_RELAXED) >= CONTEXTS - 1) {
        return 0;
    }
    uint32_t number = __atomic_add_fetch(&context_count, 1, __ATOMIC_RELAXED);
    return number < CONTEXTS ? number : 0;
}

// Where a table has the entry with that tag, or would have it; NULL when it is full,
// since many threads may have come at once.
static entry* place_in(entry* table, unsigned bits, uint64_t tag) {
    uint32_t size = (uint32_t)1 << bits;
    uint32_t first = (uint32_t)(tag >> (64 - bits));
    for (uint32_t i = 0; i < size; i++) {
        entry* place = &table[(first + i) & (size - 1)];
        entry found = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (found == 0 || found - (found & (CONTEXT_NUMBERS - 1)) == tag) {
            return place;
        }
    }
    return NULL;
}

// Another context may have come to the place meanwhile.
static struct context* found_or_none(entry found, uint64_t tag) {
    uint32_t number = (uint32_t)(found & (CONTEXT_NUMBERS - 1));
    return found - number == tag ? &contexts[number] : NULL;
}

// Puts a new context at a place, unless somebody else was there first.
static struct context* put(entry* place, uint64_t tag, uint32_t own) {
    entry found = 0;
    if (own == 0) {
        return NULL;
    }
    if (__atomic_compare_exchange_n(place, &found, tag | own, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        return &contexts[own];
    }
    return found_or_none(found, tag);
}

// The context with that hash, which is put into a table if it is new. When most of
// the last table is in use, contexts stay in the common heap, and so does a block whose
// context met another one on its way in: NULL.
static struct context* find_by_hash(uint64_t hash) {
    uint64_t tag = hash >> NUMBER_BITS << NUMBER_BITS;
    uint32_t known = __atomic_load_n(&context_count, __ATOMIC_RELAXED);
    entry* table = entries;
    uint32_t room = 0;
    for (unsigned i = 0; i < TABLES; i++) {
        unsigned bits = FIRST_BITS + i * STEP_BITS;
        entry* place = place_in(table, bits, tag);
        entry found = place == NULL ? 0 : __atomic_load_n(place, __ATOMIC_RELAXED);
        if (found != 0) {
            return found_or_none(found, tag);
        }
        room += ((uint32_t)1 << bits) / 4 * 3;
        if (known < room && place != NULL) {
            return put(place, tag, take_number());
        }
        table += (size_t)1 << bits;
    }
    return NULL;
}

static uint16_t* number_of_site(ll_site site) {
    return &((uint16_t*)site_arena.start)[site];
}

static bool has_place(ll_site site) {
    return LL_LIKELY(site < __atomic_load_n(&site_count, __ATOMIC_ACQUIRE));
}

// Makes room for the numbers of sites up to that one.
static void extend_sites(ll_site site) {
    enum { STEP = 4096 };
    if (has_place(site) || !ll_lock_try(&site_lock)) {
        return;
    }
    size_t count = (site / STEP + 1) * (size_t)STEP;
    size_t missing = count > site_count ? count - site_count : 0;
    if (ll_arena_take(&site_arena, missing * sizeof(uint16_t)) != NULL) {
        __atomic_store_n(&site_count, site_count + missing, __ATOMIC_RELEASE);
    }
    ll_lock_drop_unwaited(&site_lock);
}

static LL_NOINLINE struct context* find_slowly(ll_site site) {
    struct context* context = find_by_hash(hash_of(site));
    extend_sites(site);
    if (context != NULL && site != 0 && has_place(site)) {
        __atomic_store_n(number_of_site(site), (uint16_t)(context - contexts),
                         __ATOMIC_RELAXED);
    }
    return context;
}

static struct context* find(ll_site site) {
    uint16_t number =
        has_place(site) ? __atomic_load_n(number_of_site(site), __ATOMIC_RELAXED) : 0;
    return LL_LIKELY(number != 0) ? &contexts[number] : find_slowly(site);
}

static bool is_alive(const void* context, void* block) {
    return ll_heap_is_block(block) && find(ll_heap_site(block)) == context;
}

// Whether the context has pages of its own; one that there is no room for never has.
static bool is_aged(const struct context* context) {
    return context != NULL && __atomic_load_n(&context->is_aged, __ATOMIC_RELAXED) != 0;
}

static void list(struct context* context, void* block) {
    if (!is_aged(context) &&
        ll_candidates_list(&context->candidates, block, context, is_alive)) {
        __atomic_store_n(&context->is_aged, 1, __ATOMIC_RELAXED);
    }
}

static LL_NOINLINE struct ll_taken settle_in_common(struct context* context,
                                                    struct ll_taken taken,
                                                    size_t size_bytes,
                                                    bool is_to_be_listed) {
    ll_page_states_born((uintptr_t)taken.block, size_bytes);
    if (is_to_be_listed) {
        list(context, taken.block);
    }
    return taken;
}

static LL_NOINLINE struct ll_taken allocate_in_common_slowly(struct context* context,
                                                             unsigned class,
                                                             size_t size_bytes,
                                                             ll_site site) {
    struct ll_taken taken = ll_heap_allocate_in_common(class, size_bytes, site);
    if (taken.block == NULL) {
        return taken;
    }
    bool is_to_be_listed =
        context != NULL && ll_candidates_count_birth(&context->candidates);
    return settle_in_common(context, taken, size_bytes, is_to_be_listed);
}

// Whatever is rare is done by a call at the very end, so that the usual block comes
// without registers being saved.
static struct ll_taken allocate_in_common(struct context* context, unsigned class,
                                          size_t size_bytes, ll_site site) {
    struct ll_quick known;
    void* block = ll_quick_take_of(class, size_bytes, site, &known);
    if (LL_UNLIKELY(block == NULL)) {
        return allocate_in_common_slowly(context, class, size_bytes, site);
    }
    struct ll_taken taken = {block, known.is_fresh};
    bool is_to_be_listed =
        context != NULL && ll_candidates_count_birth(&context->candidates);
    return is_to_be_listed || ll_page_states_mind((uintptr_t)block, size_bytes)
               ? settle_in_common(context, taken, size_bytes, is_to_be_listed)
               : taken;
}

static LL_NOINLINE struct ll_taken allocate_aged(struct context* context,
                                                 unsigned class, size_t size_bytes,
                                                 ll_site site) {
    struct ll_taken taken = ll_aged_allocate(&context->aged, class, size_bytes, site);
    return LL_LIKELY(taken.block != NULL)
               ? taken
               : allocate_in_common(context, class, size_bytes, site);
}

// A block among its like, or else in the common heap.
static struct ll_taken allocate(unsigned class, size_t size_bytes, ll_site site) {
    struct context* context = find(site);
    return is_aged(context) ? allocate_aged(context, class, size_bytes, site)
                            : allocate_in_common(context, class, size_bytes, site);
}

void ll_page_contexts_forget_sites(void) {
    for (size_t site = 0; site < site_count; site++) {
        __atomic_store_n(number_of_site((ll_site)site), 0, __ATOMIC_RELAXED);
    }
}

bool ll_page_contexts_start(unsigned depth, unsigned live_blocks, size_t least_pages) {
    context_depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
    contexts = ll_memory_map(CONTEXTS * sizeof *contexts);
    entries = ll_memory_map(ENTRIES * sizeof *entries);
    if (contexts == NULL || entries == NULL ||
        !ll_arena_start(&site_arena, ((size_t)1 << 32) * sizeof(uint16_t)) ||
        !ll_aged_start(least_pages) || !ll_candidates_start(live_blocks)) {
        return false;
    }
    ll_heap_segregate(allocate);
    return true;
}
