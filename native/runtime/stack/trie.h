// All stacks ever captured, as one trie: a *node* is a frame in its calling context,
// its parent the calling frame. Nodes are numbered from 1, never freed and never moved;
// threads and signal handlers add to it without locks.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// What tells a node from its siblings: code address, flags (LL_NODE_*) and reason
// (LL_STOP_*) in one word.
typedef uint64_t ll_node_key;

#define LL_KEY_PC_MASK ((UINT64_C(1) << 47) - 1)

static inline ll_node_key ll_node_key_of(uintptr_t pc, unsigned flags,
                                         unsigned reason) {
    return (pc & LL_KEY_PC_MASK) | (uint64_t)flags << 48 | (uint64_t)reason << 56;
}

// Takes the address space for the nodes: less of it where that is limited.
bool ll_trie_start(void);

// The child of `parent` (0 is the root) with that key, made if there is none. 0 when
// there is no room left.
uint32_t ll_trie_child(uint32_t parent, ll_node_key key);

// Nodes of code in [start, end) stay as they are under the module's name, but new code
// at these addresses gets new nodes.
void ll_trie_retire(uintptr_t start, uintptr_t end, uint32_t module);

// The module was loaded again, to the same addresses: its nodes are good again.
void ll_trie_revive(uint32_t module);
