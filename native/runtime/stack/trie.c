// The children of a node form a tree of their own, ordered by the hash of their keys:
// each child has two links, and each step down uses one bit of the hash. So a look-up
// reads few nodes, most of them made one after the other, and an insertion is one
// compare-and-swap of an empty link.
#include "stack/trie.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>

#include "base/attributes.h"
#include "format/records.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "stack/modules.h"
#include "stack/stack.h"

// Two links make a node 24 bytes; with four, programs ran no faster.
enum { LINK_BITS = 1, LINKS = 1 << LINK_BITS };

// In a key: the code was unloaded. No look-up asks for it.
#define RETIRED (UINT64_C(1) << 55)

struct node {
    _Atomic ll_node_key key; // 0 in a node that lost a race and is not used
    uint32_t parent;
    _Atomic uint32_t children;     // root of the tree of children, 0 if none
    _Atomic uint32_t links[LINKS]; // to siblings
};

// Ids and how many there may be; entry 0 is the root.
static struct {
    struct node* nodes;
    _Atomic uint32_t* modules; // of retired nodes; untouched pages otherwise
    uint32_t capacity;
    _Atomic uint32_t used;
    _Atomic uint32_t committed;
} trie;

enum {
    CAPACITY_MAX = 1 << 26,
    CAPACITY_MIN = 1 << 12,
    COMMIT_NODES = 1 << 12,
    // Of the address space that a limit allows, the trie takes one part in so many.
    SHARE_OF_LIMIT = 64,
    BYTES_PER_NODE = sizeof(struct node) + sizeof(uint32_t),
};

static uint32_t wanted_capacity(void) {
    struct rlimit limit;
    if (ll_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY) {
        return CAPACITY_MAX;
    }
    uint64_t nodes = limit.rlim_cur / SHARE_OF_LIMIT / BYTES_PER_NODE;
    uint32_t capacity = CAPACITY_MAX;
    while (capacity > nodes && capacity > CAPACITY_MIN) {
        capacity /= 2;
    }
    return capacity;
}

static bool reserve(uint32_t capacity) {
    char* start = ll_memory_reserve(NULL, (size_t)capacity * BYTES_PER_NODE);
    if (start == NULL) {
        return false;
    }
    trie.nodes = (struct node*)start;
    trie.modules = (_Atomic uint32_t*)(start + (size_t)capacity * sizeof(struct node));
    trie.capacity = capacity;
    return true;
}

// Makes the nodes up to `id` usable. Threads may do the same step twice.
static bool commit_up_to(uint32_t id) {
    uint32_t from = atomic_load_explicit(&trie.committed, memory_order_acquire);
    while (LL_UNLIKELY(id >= from)) {
        uint32_t count = trie.capacity - from;
        count = count < COMMIT_NODES ? count : COMMIT_NODES;
        if (!ll_memory_commit(&trie.nodes[from], count * sizeof(struct node)) ||
            !ll_memory_commit(&trie.modules[from], count * sizeof *trie.modules)) {
            return false;
        }
        atomic_compare_exchange_strong(&trie.committed, &from, from + count);
        from = atomic_load(&trie.committed);
    }
    return true;
}

bool ll_trie_start(void) {
    if (trie.nodes != NULL) {
        return true;
    }
    uint32_t capacity = wanted_capacity();
    while (!reserve(capacity)) {
        capacity /= 2;
        if (capacity < CAPACITY_MIN) {
            return false;
        }
    }
    atomic_store(&trie.used, 1);
    return commit_up_to(0);
}

// The best mixed bits are the highest; links take them from there.
static uint64_t hash_of(ll_node_key key) {
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

// A node that no link leads to yet; 0 when the table is full.
static uint32_t make_node(uint32_t parent, ll_node_key key) {
    uint32_t id = atomic_load_explicit(&trie.used, memory_order_relaxed);
    do {
        if (id >= trie.capacity || !commit_up_to(id)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        &trie.used, &id, id + 1, memory_order_relaxed, memory_order_relaxed));
    trie.nodes[id].parent = parent;
    atomic_store_explicit(&trie.nodes[id].key, key, memory_order_relaxed);
    return id;
}

uint32_t ll_trie_child(uint32_t parent, ll_node_key key) {
    _Atomic uint32_t* link = &trie.nodes[parent].children;
    uint64_t hash = hash_of(key);
    uint32_t fresh = 0;
    for (;;) {
        uint32_t id = atomic_load_explicit(link, memory_order_acquire);
        if (id == 0) {
            fresh = fresh != 0 ? fresh : make_node(parent, key);
            if (fresh == 0 ||
                atomic_compare_exchange_strong_explicit(
                    link, &id, fresh, memory_order_acq_rel, memory_order_acquire)) {
                return fresh;
            }
        }
        struct node* node = &trie.nodes[id];
        if (LL_LIKELY(atomic_load_explicit(&node->key, memory_order_relaxed) == key)) {
            if (LL_UNLIKELY(fresh != 0)) {
                atomic_store_explicit(&trie.nodes[fresh].key, 0, memory_order_relaxed);
            }
            return id;
        }
        link = &node->links[hash >> (64 - LINK_BITS)];
        hash = hash << LINK_BITS | hash >> (64 - LINK_BITS);
    }
}

uint32_t ll_trie_find(uint32_t parent, ll_node_key key) {
    uint32_t id =
        atomic_load_explicit(&trie.nodes[parent].children, memory_order_acquire);
    uint64_t hash = hash_of(key);
    while (id != 0) {
        struct node* node = &trie.nodes[id];
        if (atomic_load_explicit(&node->key, memory_order_relaxed) == key) {
            break;
        }
        id = atomic_load_explicit(&node->links[hash >> (64 - LINK_BITS)],
                                  memory_order_acquire);
        hash = hash << LINK_BITS | hash >> (64 - LINK_BITS);
    }
    return id;
}

// An address inside the frame's code: a call that never returns may be the last
// instruction of its module.
static uintptr_t place_of(ll_node_key key) {
    uintptr_t pc = key & LL_KEY_PC_MASK;
    bool is_exact = key >> 48 & LL_NODE_exact_pc;
    return pc == 0 || is_exact ? pc : pc - 1;
}

void ll_trie_retire(uintptr_t start, uintptr_t end, uint32_t module) {
    uint32_t used = atomic_load(&trie.used);
    for (uint32_t id = 1; id < used; id++) {
        ll_node_key key =
            atomic_load_explicit(&trie.nodes[id].key, memory_order_relaxed);
        uintptr_t place = place_of(key);
        if (!(key & RETIRED) && place >= start && place < end) {
            atomic_store_explicit(&trie.modules[id], module, memory_order_relaxed);
            atomic_fetch_or(&trie.nodes[id].key, RETIRED);
        }
    }
}

void ll_trie_revive(uint32_t module) {
    uint32_t used = atomic_load(&trie.used);
    for (uint32_t id = 1; id < used; id++) {
        if (atomic_load_explicit(&trie.modules[id], memory_order_relaxed) == module) {
            atomic_fetch_and(&trie.nodes[id].key, ~RETIRED);
        }
    }
}

uint32_t ll_node_count(void) {
    uint32_t used = atomic_load(&trie.used);
    return used == 0 ? 0 : used - 1;
}

bool ll_node_get(uint32_t id, struct ll_node* result) {
    if (id == 0 || id > ll_node_count()) {
        return false;
    }
    ll_node_key key = atomic_load_explicit(&trie.nodes[id].key, memory_order_acquire);
    if (key == 0) {
        return false;
    }
    *result = (struct ll_node){
        .parent = trie.nodes[id].parent,
        .pc = key & LL_KEY_PC_MASK,
        .flags = key >> 48 & 0x7f,
        .reason = (uint16_t)(key >> 56),
    };
    if (key & RETIRED) {
        result->module = atomic_load_explicit(&trie.modules[id], memory_order_relaxed);
    } else if (result->pc != 0) {
        result->module = ll_module_at(place_of(key));
    }
    return true;
}

uint32_t ll_stack_child(uint32_t parent, uintptr_t pc, uint16_t flags) {
    return trie.nodes == NULL ? 0 : ll_trie_child(parent, ll_node_key_of(pc, flags, 0));
}
