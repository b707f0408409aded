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
#include "stack/sweep.h"
#include "stack/trie_table.h"

struct ll_trie ll_trie;

enum {
    CAPACITY_MAX = 1 << 26,
    CAPACITY_MIN = 1 << 12,
    COMMIT_NODES = 1 << 12,
    // Of the address space that a limit allows, the trie takes one part in so many.
    SHARE_OF_LIMIT = 64,
    BYTES_PER_NODE = sizeof(struct ll_trie_node) + sizeof(uint32_t),
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
    ll_trie.nodes = (struct ll_trie_node*)start;
    ll_trie.modules =
        (_Atomic uint32_t*)(start + (size_t)capacity * sizeof(struct ll_trie_node));
    ll_trie.capacity = capacity;
    return true;
}

// Makes the nodes up to `id` usable. Threads may do the same step twice.
static bool commit_up_to(uint32_t id) {
    uint32_t from = atomic_load_explicit(&ll_trie.committed, memory_order_acquire);
    while (LL_UNLIKELY(id >= from)) {
        uint32_t count = ll_trie.capacity - from;
        count = count < COMMIT_NODES ? count : COMMIT_NODES;
        if (!ll_memory_commit(&ll_trie.nodes[from],
                              count * sizeof(struct ll_trie_node)) ||
            !ll_memory_commit(&ll_trie.modules[from],
                              count * sizeof *ll_trie.modules)) {
            return false;
        }
        atomic_compare_exchange_strong(&ll_trie.committed, &from, from + count);
        from = atomic_load(&ll_trie.committed);
    }
    return true;
}

bool ll_trie_start(void) {
    if (ll_trie.nodes != NULL) {
        return true;
    }
    uint32_t capacity = wanted_capacity();
    while (!reserve(capacity)) {
        capacity /= 2;
        if (capacity < CAPACITY_MIN) {
            return false;
        }
    }
    atomic_store(&ll_trie.used, 1);
    return commit_up_to(0);
}

// Compare-and-swap. A thread that is alone with the trie does without the lock prefix,
// which costs more than all else that a new node takes: one instruction is whole for
// signal handlers as it is.
LL_INLINE bool exchange(_Atomic uint32_t* word, uint32_t* expected, uint32_t desired) {
    if (LL_LIKELY(ll_sweep_is_possible())) {
        bool done;
        __asm__ volatile("cmpxchgl %3, %1"
                         : "+a"(*expected), "+m"(*word), "=@ccz"(done)
                         : "r"(desired)
                         : "memory");
        return done;
    }
    return atomic_compare_exchange_strong_explicit(
        word, expected, desired, memory_order_acq_rel, memory_order_acquire);
}

// A node that no link leads to yet; 0 when the table is full.
static uint32_t make_node(uint32_t parent, ll_node_key key) {
    uint32_t id = atomic_load_explicit(&ll_trie.used, memory_order_relaxed);
    do {
        if (id >= ll_trie.capacity || !commit_up_to(id)) {
            return 0;
        }
    } while (!exchange(&ll_trie.used, &id, id + 1));
    ll_trie.nodes[id].parent = parent;
    atomic_store_explicit(&ll_trie.nodes[id].key, key, memory_order_relaxed);
    return id;
}

uint32_t ll_trie_child(uint32_t parent, ll_node_key key) {
    _Atomic uint32_t* link = &ll_trie.nodes[parent].children;
    uint64_t hash = ll_trie_hash(key);
    uint32_t fresh = 0;
    for (;;) {
        uint32_t id = atomic_load_explicit(link, memory_order_acquire);
        if (id == 0) {
            fresh = fresh != 0 ? fresh : make_node(parent, key);
            if (fresh == 0 || exchange(link, &id, fresh)) {
                return fresh;
            }
        }
        struct ll_trie_node* node = &ll_trie.nodes[id];
        if (LL_LIKELY(atomic_load_explicit(&node->key, memory_order_relaxed) == key)) {
            if (LL_UNLIKELY(fresh != 0)) {
                atomic_store_explicit(&ll_trie.nodes[fresh].key, 0,
                                      memory_order_relaxed);
            }
            return id;
        }
        link = &node->links[hash >> (64 - LL_TRIE_LINK_BITS)];
        hash = hash << LL_TRIE_LINK_BITS | hash >> (64 - LL_TRIE_LINK_BITS);
    }
}

// An address inside the frame's code: a call that never returns may be the last
// instruction of its module.
static uintptr_t place_of(ll_node_key key) {
    uintptr_t pc = key & LL_KEY_PC_MASK;
    bool is_exact = key >> 48 & LL_NODE_exact_pc;
    return pc == 0 || is_exact ? pc : pc - 1;
}

void ll_trie_retire(uintptr_t start, uintptr_t end, uint32_t module) {
    atomic_store(&ll_trie.has_retired, true);
    uint32_t used = atomic_load(&ll_trie.used);
    for (uint32_t id = 1; id < used; id++) {
        ll_node_key key =
            atomic_load_explicit(&ll_trie.nodes[id].key, memory_order_relaxed);
        uintptr_t place = place_of(key);
        if (!(key & LL_KEY_RETIRED) && place >= start && place < end) {
            atomic_store_explicit(&ll_trie.modules[id], module, memory_order_relaxed);
            atomic_fetch_or(&ll_trie.nodes[id].key, LL_KEY_RETIRED);
        }
    }
}

void ll_trie_revive(uint32_t module) {
    uint32_t used = atomic_load(&ll_trie.used);
    for (uint32_t id = 1; id < used; id++) {
        if (atomic_load_explicit(&ll_trie.modules[id], memory_order_relaxed) ==
            module) {
            atomic_fetch_and(&ll_trie.nodes[id].key, ~LL_KEY_RETIRED);
        }
    }
}

uint32_t ll_node_count(void) {
    uint32_t used = atomic_load(&ll_trie.used);
    return used == 0 ? 0 : used - 1;
}

bool ll_node_get(uint32_t id, struct ll_node* result) {
    if (id == 0 || id > ll_node_count()) {
        return false;
    }
    ll_node_key key =
        atomic_load_explicit(&ll_trie.nodes[id].key, memory_order_acquire);
    if (key == 0) {
        return false;
    }
    *result = (struct ll_node){
        .parent = ll_trie.nodes[id].parent,
        .pc = key & LL_KEY_PC_MASK,
        .flags = key >> 48 & 0x7f,
        .reason = (uint16_t)(key >> 56),
    };
    if (key & LL_KEY_RETIRED) {
        result->module =
            atomic_load_explicit(&ll_trie.modules[id], memory_order_relaxed);
    } else if (result->pc != 0) {
        result->module = ll_module_at(place_of(key));
    }
    return true;
}

bool ll_node_step(uint32_t id, uintptr_t* pc, uint32_t* parent) {
    if (id == 0 || id > ll_node_count()) {
        return false;
    }
    ll_node_key key =
        atomic_load_explicit(&ll_trie.nodes[id].key, memory_order_acquire);
    *pc = key & LL_KEY_PC_MASK;
    *parent = ll_trie.nodes[id].parent;
    return key != 0;
}

uint32_t ll_stack_child(uint32_t parent, uintptr_t pc, uint16_t flags) {
    return ll_trie.nodes == NULL ? 0
                                 : ll_trie_child(parent, ll_node_key_of(pc, flags, 0));
}
