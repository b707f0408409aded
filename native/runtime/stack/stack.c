// The face of the component: start, the life of threads and modules.
#include "stack/stack.h"

#include "format/records.h"
#include "stack/fold.h"
#include "stack/frames.h"
#include "stack/modules.h"
#include "stack/rules.h"
#include "stack/trie.h"

_Atomic bool ll_stack_is_started;

bool ll_stack_start(unsigned depth) {
    if (atomic_load(&ll_stack_is_started)) {
        return true;
    }
    ll_fold_set_depth(depth != 0 ? depth : 1);
    if (!ll_trie_start() || !ll_rules_start() || !ll_modules_start()) {
        return false;
    }
    atomic_store(&ll_stack_is_started, true);
    return true;
}

static bool find_slot(uintptr_t pc, struct ll_return_slot* slot) {
    ll_rule rule = ll_rule_at(pc);
    enum ll_rule_kind kind = ll_rule_kind(rule);
    uint64_t words = ll_rule_cfa_bytes(rule) / 8;
    *slot = (struct ll_return_slot){(int16_t)(words - 1), kind == LL_RULE_RBP};
    return (kind == LL_RULE_RSP || kind == LL_RULE_RBP) && words > 0;
}

uint32_t ll_stack_capture_at(uintptr_t pc, uintptr_t sp, uintptr_t rbp,
                             struct ll_return_slot* slot) {
    if (!atomic_load(&ll_stack_is_started) || !find_slot(pc, slot)) {
        return 0;
    }
    uint32_t node = ll_stack_capture_from(pc, sp, rbp);
    struct ll_node innermost;
    // With a caller, the walk has read the slot.
    return ll_node_get(node, &innermost) && innermost.parent != 0 ? node : 0;
}

void ll_stack_thread_start(uintptr_t start, uintptr_t end) {
    ll_bounds_set_own(start, end);
}

void ll_stack_thread_exit(void) {
    ll_walker_thread_exit();
}

void ll_stack_fork_child(void) {
    ll_modules_fork_child();
}

void ll_stack_modules_changed(void) {
    if (ll_modules_drop_unloaded()) {
        ll_rules_forget();
        ll_frames_forget();
    }
}

static void state_from_registers(const struct ll_registers* registers,
                                 struct ll_unwind_state* state) {
    for (unsigned i = 0; i < LL_CFI_RETURN_ADDRESS; i++) {
        state->registers[i] = registers->general[i];
    }
    state->registers[LL_CFI_RETURN_ADDRESS] = registers->pc;
    state->known = LL_ALL_REGISTERS;
}

bool ll_unwind_step(struct ll_registers* registers, uintptr_t* cfa) {
    // Of the stack that is being looked at; looks are one at a time.
    static struct ll_stack_reader reader = {.wanted = LL_ALL_REGISTERS};
    static struct ll_other_stacks others;
    struct ll_unwind_state state;
    state_from_registers(registers, &state);
    bool is_first = *cfa == 0;
    state.flags = is_first ? (uint32_t)LL_NODE_exact_pc : 0;
    uintptr_t sp = registers->general[LL_RSP];
    if (is_first) {
        others = (struct ll_other_stacks){0};
    }
    if ((is_first || !ll_bounds_contain(reader.bounds, sp)) &&
        !ll_bounds_of_other(&others, sp, &reader.bounds)) {
        return false;
    }
    uint16_t reason;
    if (ll_unwind_caller(&others, &reader, &state, &reason) != LL_STEP_CALLER) {
        return false;
    }
    for (unsigned i = 0; i < LL_CFI_RETURN_ADDRESS; i++) {
        registers->general[i] = state.known >> i & 1 ? state.registers[i] : 0;
    }
    registers->pc = state.registers[LL_CFI_RETURN_ADDRESS];
    bool was_interrupted = state.flags & LL_NODE_exact_pc;
    *cfa = was_interrupted ? 0 : registers->general[LL_RSP];
    return true;
}
