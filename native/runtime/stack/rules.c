// Turns rows into rules, and keeps the table as large as the program needs it.
#include "stack/rules.h"

#include <stddef.h>

#include "os/memory.h"
#include "stack/cfi.h"
#include "stack/modules.h"

// The largest table has room for the call sites of a browser.
enum { LINE_BITS_MIN = 9, LINE_BITS_MAX = 14 };

struct ll_rule_table* _Atomic ll_rule_table;

static struct ll_rule_table* make_table(unsigned line_bits) {
    size_t size_bytes =
        sizeof(struct ll_rule_table) + (sizeof(struct ll_rule_line) << line_bits);
    struct ll_rule_table* table = ll_memory_map(size_bytes);
    if (table != NULL) {
        table->line_bits = line_bits;
        table->shift = 64 - line_bits;
        table->line_count = 1U << line_bits;
    }
    return table;
}

bool ll_rules_start(void) {
    struct ll_rule_table* none = NULL;
    if (atomic_load(&ll_rule_table) != NULL) {
        return true;
    }
    struct ll_rule_table* table = make_table(LINE_BITS_MIN);
    return table != NULL &&
           (atomic_compare_exchange_strong(&ll_rule_table, &none, table) ||
            none != NULL);
}

// Puts a word into its line: where it is looked for first, or where there is room. In a
// full line another one goes.
static void remember(struct ll_rule_table* table, uint64_t hash, uint64_t word) {
    struct ll_rule_line* line = &table->lines[ll_rule_line_of(table, hash)];
    unsigned at = hash % LL_RULE_LINE_WORDS;
    for (unsigned i = 0; i < LL_RULE_LINE_WORDS; i++) {
        unsigned next = (at + i) % LL_RULE_LINE_WORDS;
        if (atomic_load_explicit(&line->words[next], memory_order_relaxed) == 0) {
            at = next;
            break;
        }
    }
    atomic_store_explicit(&line->words[at], word, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
}

// A word and its line together hold the whole hash.
static void copy_line(const struct ll_rule_table* from, uint32_t index,
                      struct ll_rule_table* to) {
    unsigned low_bits = LL_RULE_HASH_BITS - from->line_bits;
    uint64_t low = (UINT64_C(1) << low_bits) - 1;
    for (unsigned i = 0; i < LL_RULE_LINE_WORDS; i++) {
        uint64_t word =
            atomic_load_explicit(&from->lines[index].words[i], memory_order_relaxed);
        if (word != 0) {
            uint64_t hash = (uint64_t)index << low_bits | (word >> LL_RULE_BITS & low);
            remember(to, hash, word);
        }
    }
}

// Makes a larger table of one that is three quarters full. The old one stays mapped,
// since other threads may be reading it; all of them together are smaller than the
// last.
static void grow_if_full(struct ll_rule_table* table) {
    uint32_t used = atomic_load_explicit(&table->used, memory_order_relaxed);
    if (used != table->line_count * LL_RULE_LINE_WORDS / 4 * 3 ||
        table->line_bits >= LINE_BITS_MAX) {
        return;
    }
    struct ll_rule_table* larger = make_table(table->line_bits + 1);
    if (larger == NULL) {
        return;
    }
    for (uint32_t i = 0; i < table->line_count; i++) {
        copy_line(table, i, larger);
    }
    atomic_store_explicit(&ll_rule_table, larger, memory_order_release);
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
    bool fits = cfa->value > 0 && cfa->value % 8 == 0 && cfa->value < 8 << 14;
    if (!is_plain || !fits || (cfa->reg == LL_RSP && rbp * 8 > cfa->value)) {
        return special(LL_RULE_FULL);
    }
    return (cfa->reg == LL_RSP ? LL_RULE_RSP : LL_RULE_RBP) |
           (ll_rule)(cfa->value / 8) << 2 | (ll_rule)rbp << 16;
}

static ll_rule rule_from_tables(struct ll_rule_table* table, uintptr_t pc) {
    struct ll_cfi_row row;
    enum ll_cfi_found found = ll_cfi_find(pc - 1, &row);
    ll_rule rule =
        found == LL_CFI_FOUND ? rule_from_row(&row) : special(LL_RULE_NO_TABLE);
    // Where there is no image, one may be loaded later. And a rule that is remembered
    // keeps its code's module from being registered.
    if (found != LL_CFI_NO_IMAGE && pc >> LL_RULE_HASH_BITS == 0 &&
        ll_module_note(pc - 1)) {
        uint64_t hash = ll_rule_hash(pc);
        remember(table, hash, hash << LL_RULE_BITS | rule);
        grow_if_full(table);
    }
    return rule;
}

LL_NOINLINE ll_rule ll_rule_elsewhere(uintptr_t pc) {
    struct ll_rule_table* table = atomic_load(&ll_rule_table);
    uint64_t hash = ll_rule_hash(pc);
    const struct ll_rule_line* line = &table->lines[ll_rule_line_of(table, hash)];
    for (unsigned i = 0; i < LL_RULE_LINE_WORDS; i++) {
        uint64_t word = atomic_load_explicit(&line->words[i], memory_order_relaxed);
        if (ll_rule_word_is_for(word, hash)) {
            return (ll_rule)(word & LL_RULE_MASK);
        }
    }
    return rule_from_tables(table, pc);
}

void ll_rules_forget(void) {
    struct ll_rule_table* table = atomic_load(&ll_rule_table);
    for (uint32_t i = 0; table != NULL && i < table->line_count; i++) {
        for (unsigned j = 0; j < LL_RULE_LINE_WORDS; j++) {
            atomic_store_explicit(&table->lines[i].words[j], 0, memory_order_relaxed);
        }
    }
    if (table != NULL) {
        atomic_store_explicit(&table->used, 0, memory_order_relaxed);
    }
}
