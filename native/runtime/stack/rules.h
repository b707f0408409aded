// A cache of what unwind tables say about return addresses, without the tables' cost. A
// *rule* is 28 bits; with the rest of the address's hash it fits one 64-bit word, so
// threads share the cache without locks and never see half of an entry.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

// bits 0..1   kind
// bits 2..17  LL_RULE_RSP, LL_RULE_RBP: distance from that register to the CFA, in
// words bits 18..27 the caller's rbp is saved that many words below the CFA; 0: not
// saved With LL_RULE_SPECIAL, bits 2..17 hold an enum ll_special_rule.
typedef uint32_t ll_rule;

enum ll_rule_kind { LL_RULE_NONE, LL_RULE_RSP, LL_RULE_RBP, LL_RULE_SPECIAL };

enum ll_special_rule {
    LL_RULE_END,      // outermost frame
    LL_RULE_NO_TABLE, // nothing is known about this code
    LL_RULE_FULL,     // the tables have to be read each time
};

LL_INLINE enum ll_rule_kind ll_rule_kind(ll_rule rule) {
    return (enum ll_rule_kind)(rule & 3);
}
LL_INLINE uint64_t ll_rule_cfa_bytes(ll_rule rule) {
    return (uint64_t)(rule >> 2 & 0xffff) * 8;
}
LL_INLINE uint64_t ll_rule_rbp_bytes(ll_rule rule) {
    return (uint64_t)(rule >> 18) * 8;
}
LL_INLINE enum ll_special_rule ll_rule_special(ll_rule rule) {
    return (enum ll_special_rule)(rule >> 2 & 0xffff);
}

struct ll_rule_table {
    unsigned shift; // of the hash, to get an index
    uint32_t size;
    _Atomic uint32_t misses;
    _Atomic uint64_t words[]; // hash tag << 28 | rule; 0 is empty
};

extern struct ll_rule_table* _Atomic ll_rule_table;

enum { LL_RULE_BITS = 28, LL_RULE_HASH_BITS = 48, LL_RULE_TABLE_MIN_BITS = 12 };
#define LL_RULE_MASK ((UINT64_C(1) << LL_RULE_BITS) - 1)

// One-to-one on 48-bit addresses, so index and tag together name the address.
LL_INLINE uint64_t ll_rule_hash(uintptr_t pc) {
    return pc * UINT64_C(0x9e3779b97f4a7c15) & ((UINT64_C(1) << LL_RULE_HASH_BITS) - 1);
}

bool ll_rules_start(void);

// Reads the tables, and remembers what they said.
ll_rule ll_rule_from_tables(uintptr_t pc);

// The rule for the caller's frame that a call returns to at `pc`.
LL_INLINE ll_rule ll_rule_at(uintptr_t pc) {
    struct ll_rule_table* table =
        atomic_load_explicit(&ll_rule_table, memory_order_acquire);
    uint64_t hash = ll_rule_hash(pc);
    uint64_t word =
        atomic_load_explicit(&table->words[hash >> table->shift], memory_order_relaxed);
    if (LL_LIKELY(word >> LL_RULE_BITS == (hash & UINT64_MAX >> LL_RULE_BITS) &&
                  word != 0)) {
        return (ll_rule)(word & LL_RULE_MASK);
    }
    return ll_rule_from_tables(pc);
}

// Forgets all rules, since code at their addresses may have changed.
void ll_rules_forget(void);
