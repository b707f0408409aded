// Turns rows into rules, and keeps the table as large as the program needs it.
#include "stack/rules.h"

#include <stddef.h>

#include "os/memory.h"
#include "stack/cfi.h"
#include "stack/modules.h"

// Entries of the largest table: enough for the call sites of a browser.
enum { TABLE_MAX_BITS = 17 };

struct ll_rule_table* _Atomic ll_rule_table;

static struct ll_rule_table* make_table(unsigned bits) {
    size_t size_bytes = sizeof(struct ll_rule_table) + (sizeof(uint64_t) << bits);
    struct ll_rule_table* table = ll_memory_map(size_bytes);
    if (table != NULL) {
        table->shift = LL_RULE_HASH_BITS - bits;
        table->size = 1U << bits;
    }
    return table;
}

bool ll_rules_start(void) {
    struct ll_rule_table* none = NULL;
    if (atomic_load(&ll_rule_table) != NULL) {
        return true;
    }
    struct ll_rule_table* table = make_table(LL_RULE_TABLE_MIN_BITS);
    return table != NULL &&
           (atomic_compare_exchange_strong(&ll_rule_table, &none, table) ||
            none != NULL);
}

// The place of a word in a table tells the hash bits that the word does not hold.
static void copy_words(const struct ll_rule_table* from, struct ll_rule_table* to) {
    for (uint32_t i = 0; i < from->size; i++) {
        uint64_t word = atomic_load_explicit(&from->words[i], memory_order_relaxed);
        uint64_t low = (UINT64_C(1) << from->shift) - 1;
        uint64_t hash = (uint64_t)i << from->shift | (word >> LL_RULE_BITS & low);
        if (word != 0) {
            atomic_store_explicit(&to->words[hash >> to->shift], word,
                                  memory_order_relaxed);
        }
    }
}

// A table that missed for half of its entries is too small. The old one stays mapped,
// since other threads may be reading it; all of them together are smaller than the
// last.
static void grow_if_small(struct ll_rule_table* table) {
    uint32_t misses =
        atomic_fetch_add_explicit(&table->misses, 1, memory_order_relaxed);
    unsigned bits = LL_RULE_HASH_BITS - table->shift;
    if (misses != table->size / 2 || bits >= TABLE_MAX_BITS) {
        return;
    }
    struct ll_rule_table* larger = make_table(bits + 1);
    if (larger != NULL) {
        copy_words(table, larger);
        atomic_store_explicit(&ll_rule_table, larger, memory_order_release);
    }
}

static ll_rule special(enum ll_special_rule what) {
    return LL_RULE_SPECIAL | (ll_rule)what << 2;
}

// Words between the CFA and the place where rbp is saved; -1 when it is no such place.
static int rbp_words(const struct ll_cfi_rule* rbp) {
    if (rbp->kind == LL_CFI_UNCHANGED || rbp->kind == LL_CFI_UNDEFINED) {
        return 0;
    }
    bool fits = rbp->kind == LL_CFI_SAVED && rbp->value < 0 && rbp->value % 8 == 0 &&
                rbp->value > -8 * 1024;
    return fits ? -rbp->value / 8 : -1;
}

static ll_rule rule_from_row(const struct ll_cfi_row* row) {
    const struct ll_cfi_rule* cfa = &row->cfa;
    const struct ll_cfi_rule* ra = &row->registers[LL_CFI_RETURN_ADDRESS];
    int rbp = rbp_words(&row->registers[LL_RBP]);
    if (ra->kind == LL_CFI_UNDEFINED) {
        return special(LL_RULE_END);
    }
    bool is_plain = !row->signal_frame && ra->kind == LL_CFI_SAVED && ra->value == -8 &&
                    row->registers[LL_RSP].kind == LL_CFI_UNCHANGED && rbp >= 0 &&
                    cfa->kind == LL_CFI_REGISTER &&
                    (cfa->reg == LL_RSP || cfa->reg == LL_RBP);
    bool fits = cfa->value > 0 && cfa->value % 8 == 0 && cfa->value < 8 << 16;
    if (!is_plain || !fits || (cfa->reg == LL_RSP && rbp * 8 > cfa->value)) {
        return special(LL_RULE_FULL);
    }
    return (cfa->reg == LL_RSP ? LL_RULE_RSP : LL_RULE_RBP) |
           (ll_rule)(cfa->value / 8) << 2 | (ll_rule)rbp << 18;
}

static void remember(struct ll_rule_table* table, uintptr_t pc, ll_rule rule) {
    uint64_t hash = ll_rule_hash(pc);
    atomic_store_explicit(&table->words[hash >> table->shift],
                          hash << LL_RULE_BITS | rule, memory_order_relaxed);
}

LL_COLD ll_rule ll_rule_from_tables(uintptr_t pc) {
    struct ll_rule_table* table = atomic_load(&ll_rule_table);
    struct ll_cfi_row row;
    enum ll_cfi_found found = ll_cfi_find(pc - 1, &row);
    ll_rule rule =
        found == LL_CFI_FOUND ? rule_from_row(&row) : special(LL_RULE_NO_TABLE);
    // Where there is no image, one may be loaded later. And a rule that is remembered
    // keeps its code's module from being registered.
    if (found != LL_CFI_NO_IMAGE && pc >> LL_RULE_HASH_BITS == 0 &&
        ll_module_note(pc - 1)) {
        remember(table, pc, rule);
        grow_if_small(table);
    }
    return rule;
}

void ll_rules_forget(void) {
    struct ll_rule_table* table = atomic_load(&ll_rule_table);
    for (uint32_t i = 0; table != NULL && i < table->size; i++) {
        atomic_store_explicit(&table->words[i], 0, memory_order_relaxed);
    }
}
