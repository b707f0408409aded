#include "stack/sweep.h"

#include <string.h>

#include "os/alone.h"
#include "os/lock.h"
#include "os/memory.h"
#include "stack/frames.h"
#include "stack/stack.h"
#include "stack/trie_table.h"

enum {
    // A trie of fewer nodes is left alone.
    DUE_FIRST = 1 << 15,
    // A sweep looks at every block, so it has to wait the longer the more there are.
    WORDS_PER_NODE = 4,
};

_Atomic uint32_t ll_sweep_due = UINT32_MAX;

static ll_node_holder* holder;

// During a sweep: the new id of each node, 0 for those that go.
static struct {
    uint32_t* ids;
    uint32_t used;  // their number
    uint64_t words; // that the holder looked at
} sweep;

void ll_stack_let_sweep(ll_node_holder* visit_held) {
    holder = visit_held;
    atomic_store(&ll_sweep_due, DUE_FIRST);
}

void ll_stack_keep_nodes(void) {
    atomic_store(&ll_sweep_due, UINT32_MAX);
}

bool ll_sweep_is_possible(void) {
    return atomic_load_explicit(&ll_sweep_due, memory_order_relaxed) != UINT32_MAX &&
           ll_is_alone();
}

bool ll_sweep_is_due(void) {
    return atomic_load_explicit(&ll_trie.used, memory_order_relaxed) >=
               atomic_load_explicit(&ll_sweep_due, memory_order_relaxed) &&
           ll_is_alone();
}

// A block whose birth was not stamped, since a signal handler left malloc for good, may
// show a stamp from before an earlier sweep.
static uint32_t note_held(uint32_t node) {
    if (node < sweep.used) {
        sweep.ids[node] = 1;
    }
    return node;
}

static uint32_t new_id(uint32_t node) {
    return node < sweep.used ? sweep.ids[node] : 0;
}

// What holds a node holds its callers. Numbers them from 1; returns the end.
static uint32_t number_held(uint32_t used) {
    for (uint32_t id = used; id-- > 1;) {
        if (sweep.ids[id] != 0) {
            sweep.ids[ll_trie.nodes[id].parent] = 1;
        }
    }
    uint32_t end = 1;
    for (uint32_t id = 1; id < used; id++) {
        sweep.ids[id] = sweep.ids[id] != 0 ? end++ : 0;
    }
    sweep.ids[0] = 0;
    return end;
}

static void move(uint32_t from, uint32_t to) {
    struct ll_trie_node* node = &ll_trie.nodes[to];
    ll_node_key key = atomic_load(&ll_trie.nodes[from].key);
    *node = (struct ll_trie_node){.parent = sweep.ids[ll_trie.nodes[from].parent]};
    atomic_store_explicit(&node->key, key, memory_order_relaxed);
    if (atomic_load(&ll_trie.has_retired)) {
        atomic_store(&ll_trie.modules[to], atomic_load(&ll_trie.modules[from]));
    }
}

static void link_to_parent(uint32_t id) {
    struct ll_trie_node* nodes = ll_trie.nodes;
    uint64_t hash = ll_trie_hash(atomic_load(&nodes[id].key) & ~LL_KEY_RETIRED);
    _Atomic uint32_t* link = &nodes[nodes[id].parent].children;
    uint32_t at;
    while ((at = atomic_load_explicit(link, memory_order_relaxed)) != 0) {
        link = &nodes[at].links[hash >> (64 - LL_TRIE_LINK_BITS)];
        hash = hash << LL_TRIE_LINK_BITS | hash >> (64 - LL_TRIE_LINK_BITS);
    }
    atomic_store_explicit(link, id, memory_order_relaxed);
}

static uint32_t next_due(uint32_t nodes) {
    uint64_t due = DUE_FIRST + 2 * (uint64_t)nodes + sweep.words / WORDS_PER_NODE;
    return due < UINT32_MAX ? (uint32_t)due : UINT32_MAX;
}

// Gives whole pages back to the system.
static void clear(void* start, void* end) {
    uintptr_t page = ((uintptr_t)start + LL_PAGE_SIZE - 1) & -(uintptr_t)LL_PAGE_SIZE;
    uintptr_t last = (uintptr_t)end & -(uintptr_t)LL_PAGE_SIZE;
    if (page >= last || !ll_memory_purge((void*)page, last - page)) {
        memset(start, 0, (size_t)((char*)end - (char*)start));
        return;
    }
    memset(start, 0, page - (uintptr_t)start);
    memset((void*)last, 0, (uintptr_t)end - last);
}

// Nodes up to the next sweep will soon be used again: their pages stay.
static void clear_nodes(uint32_t start, uint32_t end, uint32_t next_due) {
    uint32_t kept = next_due < end ? next_due : end;
    if (kept > start) {
        memset(&ll_trie.nodes[start], 0, (kept - start) * sizeof *ll_trie.nodes);
        start = kept;
    }
    clear(&ll_trie.nodes[start], &ll_trie.nodes[end]);
}

// New ids are not higher than old ones, so nothing is written over that is still to be
// moved.
static void move_together(uint32_t used, uint32_t end) {
    atomic_store(&ll_trie.nodes[0].children, 0);
    for (uint32_t id = 1; id < used; id++) {
        if (sweep.ids[id] != 0) {
            move(id, sweep.ids[id]);
        }
    }
    clear_nodes(end, used, next_due(end));
    if (atomic_load(&ll_trie.has_retired)) {
        clear(&ll_trie.modules[end], &ll_trie.modules[used]);
    }
    for (uint32_t id = 1; id < end; id++) {
        link_to_parent(id);
    }
    atomic_store(&ll_trie.used, end);
}

LL_COLD void ll_sweep(void) {
    uint32_t used = atomic_load(&ll_trie.used);
    uint64_t mask = ll_signals_block();
    sweep.used = used;
    sweep.words = 0;
    sweep.ids = ll_memory_map(used * sizeof *sweep.ids);
    if (sweep.ids == NULL) {
        atomic_store(&ll_sweep_due, next_due(used));
    } else {
        sweep.words = holder(note_held);
        uint32_t end = number_held(used);
        move_together(used, end);
        holder(new_id);
        ll_frames_forget();
        ll_memory_unmap(sweep.ids, used * sizeof *sweep.ids);
        atomic_store(&ll_sweep_due, next_due(end));
    }
    ll_signals_restore(mask);
}
