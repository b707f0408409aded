#include "lens/contexts.h"

#include <stddef.h>

#include "base/attributes.h"
#include "os/memory.h"

// A table that is never full enough to be slow: later contexts have no stack.
enum { TABLE_BITS = 20, TABLE_SIZE = 1 << TABLE_BITS, PROBES_MAX = 64 };

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

LL_IN_HOOK static size_t place_of(uint32_t context, size_t probe) {
    return ((context * (uint32_t)0x9e3779b1U >> (32 - TABLE_BITS)) + probe) &
           (TABLE_SIZE - 1);
}

// The word of a context, or the free one where it belongs; NULL when there is neither.
LL_IN_HOOK static uint64_t* find(uint32_t context) {
    for (size_t probe = 0; table != NULL && probe < PROBES_MAX; probe++) {
        uint64_t* word = &table[place_of(context, probe)];
        uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (value == 0 || (uint32_t)value == context) {
            return word;
        }
    }
    return NULL;
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
