#include "lens/loss_stacks.h"

#include <stdatomic.h>

#include "base/attributes.h"
#include "patch/origin.h"
#include "patch/patch.h"
#include "stack/rules.h"
#include "stack/stack.h"
#include "stack/unwind.h"

// The unwind rules of places: (place + 1) << 32 | rule, in one word that threads share
// without locks; 0 is empty.
enum { KNOWN_RULES = 1 << 14 };
static LL_BULK _Atomic uint64_t known_rules[KNOWN_RULES];

// Taking a stack may itself run patched code of the C library.
static LL_THREAD_LOCAL bool is_taking;

static _Atomic uint64_t* entry_of(uint32_t place) {
    return &known_rules[(place ^ place >> 14) % KNOWN_RULES];
}

static bool known_rule(uint32_t place, ll_rule* rule) {
    uint64_t word = atomic_load_explicit(entry_of(place), memory_order_relaxed);
    *rule = (ll_rule)word;
    return word >> 32 == place && word != 0;
}

static ll_rule find_rule(uint32_t place) {
    uintptr_t store = ll_patch_store_at(place);
    // As if the store were a call that returns one byte further on.
    ll_rule rule = store != 0 ? ll_rule_at(store + 1) : (ll_rule)LL_RULE_SPECIAL;
    atomic_store_explicit(entry_of(place), (uint64_t)place << 32 | rule,
                          memory_order_relaxed);
    return rule;
}

// The frame that called the storing function; false when the return address does not
// lie where the rule says.
static bool caller_of(const struct ll_storer* storer, ll_rule rule,
                      struct ll_caller* caller) {
    uintptr_t sp = (uintptr_t)(storer->place + 1) + storer->pushed_bytes;
    uintptr_t cfa = ll_rule_cfa_bytes(rule);
    switch (ll_rule_kind(rule)) {
    case LL_RULE_RSP:
        cfa += sp;
        // One word more where the trampoline saved the flags.
        cfa += ll_stack_load(cfa - 8) == storer->caller ? 0 : 8;
        break;
    case LL_RULE_RBP:
        cfa += storer->rbp;
        break;
    default:
        return false;
    }
    if (cfa <= sp || ll_stack_load(cfa - 8) != storer->caller) {
        return false;
    }
    uint64_t saved = ll_rule_rbp_bytes(rule);
    *caller = (struct ll_caller){
        .pc = storer->caller,
        .sp = cfa,
        .rbp = saved != 0 ? ll_stack_load(cfa - saved) : storer->rbp,
    };
    return true;
}

static uint32_t recall(const struct ll_storer* storer) {
    ll_rule rule;
    struct ll_caller caller;
    return known_rule((uint32_t)*storer->place, &rule) &&
                   caller_of(storer, rule, &caller)
               ? ll_stack_recall(caller)
               : 0;
}

static uint32_t take(const struct ll_storer* storer) {
    if (is_taking) {
        return 0;
    }
    is_taking = true;
    struct ll_caller caller;
    bool found = caller_of(storer, find_rule((uint32_t)*storer->place), &caller);
    uint32_t node = found ? ll_stack_capture(caller) : 0;
    is_taking = false;
    return node;
}

bool ll_loss_stacks_start(void) {
    return ll_origins_have_stacks((struct ll_caller_stacks){recall, take});
}

void ll_loss_stacks_forget(void) {
    for (unsigned i = 0; i < KNOWN_RULES; i++) {
        atomic_store_explicit(&known_rules[i], 0, memory_order_relaxed);
    }
}
