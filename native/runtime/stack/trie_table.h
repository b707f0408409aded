// How the nodes of the trie lie in memory, for the parts that work on all of them.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "stack/trie.h"

// Two links make a node 24 bytes; with four, programs ran no faster.
enum { LL_TRIE_LINK_BITS = 1, LL_TRIE_LINKS = 1 << LL_TRIE_LINK_BITS };

// In a key: the code was unloaded. No look-up asks for it.
#define LL_KEY_RETIRED (UINT64_C(1) << 55)

// A parent has a lower id than its children.
struct ll_trie_node {
    _Atomic ll_node_key key; // 0 in a node that lost a race and is not used
    uint32_t parent;
    _Atomic uint32_t children;             // root of the tree of children, 0 if none
    _Atomic uint32_t links[LL_TRIE_LINKS]; // to siblings
};

// Ids and how many there may be; entry 0 is the root.
struct ll_trie {
    struct ll_trie_node* nodes;
    _Atomic uint32_t* modules; // of retired nodes; untouched pages otherwise
    uint32_t capacity;
    _Atomic uint32_t used;
    _Atomic uint32_t committed;
    _Atomic bool has_retired;
};
extern struct ll_trie ll_trie;

// The best mixed bits are the highest; links take them from there.
LL_INLINE uint64_t ll_trie_hash(ll_node_key key) {
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

// As ll_trie_child (stack/trie.h) without making one: 0 if there is none.
LL_INLINE uint32_t ll_trie_find(uint32_t parent, ll_node_key key) {
    const struct ll_trie_node* nodes = ll_trie.nodes;
    uint32_t id = atomic_load_explicit(&nodes[parent].children, memory_order_acquire);
    uint64_t hash = ll_trie_hash(key);
    while (id != 0 &&
           atomic_load_explicit(&nodes[id].key, memory_order_relaxed) != key) {
        id = atomic_load_explicit(&nodes[id].links[hash >> (64 - LL_TRIE_LINK_BITS)],
                                  memory_order_acquire);
        hash = hash << LL_TRIE_LINK_BITS | hash >> (64 - LL_TRIE_LINK_BITS);
    }
    return id;
}
