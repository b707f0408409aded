// A cache of what unwind tables say about return addresses, without the tables' cost. A
// *rule* is 26 bits; with the rest of the address's hash it fits one 64-bit word, so
// threads share the cache without locks and never see half of an entry. An address may
// lie in any of the words of one cache line: were there only one place for it, two
// addresses that a program uses by turns would drive each other out.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

// bits 0..1    kind
// bits 2..15   LL_RULE_RSP, LL_RULE_RBP: distance from that register to the CFA, in
//              words; with LL_RULE_SPECIAL an enum ll_special_rule
// bits 16..25  the caller's rbp is saved that many words below the CFA; 0: not saved
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
    return (uint64_t)(rule >> 2 & 0x3fff) * 8;
}
LL_INLINE uint64_t ll_rule_rbp_bytes(ll_rule rule) {
    return (uint64_t)(rule >> 16) * 8;
}
LL_INLINE enum ll_special_rule ll_rule_special(ll_rule rule) {
    return (enum ll_special_rule)(rule >> 2 & 0x3fff);
}

enum {
    LL_RULE_BITS = 26,
    LL_RULE_HASH_BITS = 47, // of addresses in user space
    LL_RULE_LINE_WORDS = 8,
};
#define LL_RULE_MASK ((UINT64_C(1) << LL_RULE_BITS) - 1)

struct ll_rule_line {
    // hash << LL_RULE_BITS | rule; 0 is empty
    _Alignas(64) _Atomic uint64_t words[LL_RULE_LINE_WORDS];
};

struct ll_rule_table {
    unsigned line_bits; // of the hash, its highest ones
    unsigned shift;     // 64 - line_bits
    uint32_t line_count;
    _Atomic uint32_t used; // words that were ever filled
    struct ll_rule_line lines[];
};

extern struct ll_rule_table* _Atomic ll_rule_table;

// One-to-one on addresses, so that line and word together name the address.
#define LL_RULE_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
LL_INLINE uint64_t ll_rule_hash(uintptr_t pc) {
    return pc * LL_RULE_HASH_FACTOR & ((UINT64_C(1) << LL_RULE_HASH_BITS) - 1);
}

LL_INLINE bool ll_rule_word_is_for(uint64_t word, uint64_t hash) {
    return word >> LL_RULE_BITS == (hash & UINT64_MAX >> LL_RULE_BITS) && word != 0;
}

// The index of its line; bits above those of the hash do not matter.
LL_INLINE uint64_t ll_rule_line_of(const struct ll_rule_table* table, uint64_t hash) {
    return hash << (64 - LL_RULE_HASH_BITS) >> table->shift;
}

bool ll_rules_start(void);

// The rule when it is not in the first word that was tried. Reads the tables if it has
// to, and remembers what they said.
ll_rule ll_rule_elsewhere(uintptr_t pc);

// The rule for the caller's frame that a call returns to at `pc`.
LL_INLINE ll_rule ll_rule_at(uintptr_t pc) {
    const struct ll_rule_table* table =
        atomic_load_explicit(&ll_rule_table, memory_order_acquire);
    uint64_t hash = pc * LL_RULE_HASH_FACTOR;
    uint64_t word = atomic_load_explicit(
        &table->lines[ll_rule_line_of(table, hash)].words[hash % LL_RULE_LINE_WORDS],
        memory_order_relaxed);
    // With the right hash taken out, only the rule is left.
    uint64_t rule = word ^ hash << LL_RULE_BITS;
    return LL_LIKELY(rule - 1 < LL_RULE_MASK) ? (ll_rule)rule : ll_rule_elsewhere(pc);
}

// Forgets all rules, since code at their addresses may have changed.
void ll_rules_forget(void);
