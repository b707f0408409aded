#include "lens/contexts.h"

#include <stddef.h>

#include "base/attributes.h"
#include "os/memory.h"

// The parts of the table. A context that finds no place in one goes to the next, which
// is larger: so a few contexts touch few pages. Those that find none in the last have
// no stack.
enum { PARTS = 3, TABLE_SIZE = (1 << 12) + (1 << 15) + (1 << 20) };

static const struct part {
    uint32_t first;
    uint32_t bits;       // of the number of its places
    uint32_t probes_max; // so many places are tried
} parts[PARTS] = {{0, 12, 8}, {1 << 12, 15, 16}, {(1 << 12) + (1 << 15), 20, 64}};

// Two halves of one word, so that a reader never sees one without the other: the
// context, and the stack's node above it. 0: free; a stack is never node 0.
static uint64_t* table;

static LL_BULK uint32_t cache[LL_CONTEXTS_CACHED];

static struct ll_loss_page* page; // NULL before the start

// A cache of zeros knows the context 0, which is that of a thread's first function.
bool ll_contexts_start(struct ll_loss_page* shared, void (*hook)(uint32_t context)) {
    table = ll_memory_map(TABLE_SIZE * sizeof *table);
    page = shared;
    page->cache = cache;
    page->hook = hook;
    ll_loss_page_forget_contexts(page);
    return table != NULL;
}

LL_IN_HOOK static size_t place_of(uint32_t context, struct part part, uint32_t probe) {
    uint32_t number = (context * (uint32_t)0x9e3779b1U >> (32 - part.bits)) + probe;
    return part.first + (number & ((1U << part.bits) - 1));
}

LL_IN_HOOK static uint64_t* find_in(struct part part, uint32_t context) {
    for (uint32_t probe = 0; probe < part.probes_max; probe++) {
        uint64_t* word = &table[place_of(context, part, probe)];
        uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (value == 0 || (uint32_t)value == context) {
            return word;
        }
    }
    return NULL;
}

// The word of a context, or the free one where it belongs; NULL when there is neither.
LL_IN_HOOK static uint64_t* find(uint32_t context) {
    uint64_t* word = NULL;
    for (size_t i = 0; table != NULL && word == NULL && i < PARTS; i++) {
        word = find_in(parts[i], context);
    }
    return word;
}

LL_IN_HOOK bool ll_context_is_known(uint32_t context) {
    __atomic_store_n(&cache[context % LL_CONTEXTS_CACHED], context, __ATOMIC_RELAXED);
    if (__atomic_load_n(&page->mode, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&page->quick_contexts[context % LL_QUICK_CONTEXTS], context,
                         __ATOMIC_RELAXED);
    }
    const uint64_t* word = find(context);
    return word == NULL || __atomic_load_n(word, __ATOMIC_RELAXED) != 0;
}

void ll_context_learn(uint32_t context, ll_site stack) {
    uint64_t wanted = (uint64_t)stack << 32 | context;
    uint64_t* word = find(context);
    while (stack != 0 && word != NULL) {
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(word, &found, wanted, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            (uint32_t)found == context) {
            return;
        }
        word = find(context);
    }
}

ll_site ll_context_stack(uint32_t context) {
    const uint64_t* word = find(context);
    return word != NULL ? (ll_site)(__atomic_load_n(word, __ATOMIC_RELAXED) >> 32) : 0;
}
