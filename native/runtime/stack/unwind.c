// Applies a row: the CFA first, then each register of the caller.
#include "stack/unwind.h"

#include <string.h>

#include "format/records.h"
#include "stack/stack.h"

bool ll_stack_read(struct ll_stack_reader* reader, uintptr_t address, uint64_t* value) {
    if (address % sizeof *value != 0 || !ll_bounds_contain(reader->bounds, address) ||
        reader->bounds.high - address < sizeof *value) {
        reader->beyond = address >= reader->bounds.high ? address : 0;
        return false;
    }
    *value = ll_stack_load(address);
    if (reader->seen != NULL) {
        reader->seen(reader->context, address, *value);
    }
    return true;
}

// Registers that a function gives back as it found them: rbx, rbp, r12 to r15.
static const uint32_t CALLEE_SAVED = 1U << LL_RBX | 1U << LL_RBP | 0xfU << 12;

static bool is_known(const struct ll_unwind_state* state, unsigned reg) {
    return state->known >> reg & 1;
}

static enum ll_step stop(uint16_t* reason, uint16_t why) {
    *reason = why;
    return LL_STEP_STOPPED;
}

static enum ll_step find_cfa(const struct ll_cfi_row* row,
                             struct ll_stack_reader* reader,
                             const struct ll_unwind_state* state, uint64_t* cfa,
                             uint16_t* reason) {
    if (row->cfa.kind == LL_CFI_REGISTER) {
        *cfa = state->registers[row->cfa.reg] + (uint64_t)(int64_t)row->cfa.value;
        return is_known(state, row->cfa.reg) ? LL_STEP_CALLER : LL_STEP_NEEDS_REGISTER;
    }
    if (row->cfa.kind == LL_CFI_EXPRESSION &&
        ll_expression_value(row->base + row->cfa.value, row->end, reader, state, 0,
                            cfa)) {
        return LL_STEP_CALLER;
    }
    return stop(reason, LL_STOP_expression);
}

// The caller's value of one register. False when it is not to be had.
static bool find_register(const struct ll_cfi_row* row, unsigned reg, uint64_t cfa,
                          struct ll_stack_reader* reader,
                          const struct ll_unwind_state* state, uint64_t* value) {
    const struct ll_cfi_rule* rule = &row->registers[reg];
    const uint8_t* expression = row->base + rule->value;
    uint64_t address;
    switch (rule->kind) {
    case LL_CFI_UNCHANGED:
        *value = reg == LL_RSP ? cfa : state->registers[reg];
        return reg == LL_RSP || (state->known & CALLEE_SAVED) >> reg & 1;
    case LL_CFI_SAVED:
        return ll_stack_read(reader, cfa + (uint64_t)(int64_t)rule->value, value);
    case LL_CFI_CFA:
        *value = cfa + (uint64_t)(int64_t)rule->value;
        return true;
    case LL_CFI_REGISTER:
        *value = state->registers[rule->reg];
        return is_known(state, rule->reg);
    case LL_CFI_SAVED_EXPRESSION:
        return ll_expression_value(expression, row->end, reader, state, cfa,
                                   &address) &&
               ll_stack_read(reader, address, value);
    case LL_CFI_EXPRESSION:
        return ll_expression_value(expression, row->end, reader, state, cfa, value);
    default:
        return false;
    }
}

enum ll_step ll_unwind_apply(const struct ll_cfi_row* row,
                             struct ll_stack_reader* reader,
                             struct ll_unwind_state* state, uint16_t* reason) {
    if (row->registers[LL_CFI_RETURN_ADDRESS].kind == LL_CFI_UNDEFINED) {
        return LL_STEP_END;
    }
    uint64_t cfa;
    enum ll_step result = find_cfa(row, reader, state, &cfa, reason);
    if (result != LL_STEP_CALLER) {
        return result;
    }
    // Only a signal frame may lead to another stack, or down the same one.
    if (!row->signal_frame && (cfa <= state->registers[LL_RSP] || cfa % 8 != 0)) {
        return stop(reason, LL_STOP_outside_stack);
    }
    struct ll_unwind_state caller = {.flags = row->signal_frame ? LL_NODE_exact_pc : 0};
    for (unsigned reg = 0; reg < LL_CFI_REGISTERS; reg++) {
        if (reader->wanted >> reg & 1 &&
            find_register(row, reg, cfa, reader, state, &caller.registers[reg])) {
            caller.known |= 1U << reg;
        }
    }
    if (!is_known(&caller, LL_RSP) || !is_known(&caller, LL_CFI_RETURN_ADDRESS)) {
        return stop(reason, LL_STOP_outside_stack);
    }
    *state = caller;
    return caller.registers[LL_CFI_RETURN_ADDRESS] == 0 ? LL_STEP_END : LL_STEP_CALLER;
}

enum ll_step ll_unwind_caller(struct ll_other_stacks* others,
                              struct ll_stack_reader* reader,
                              struct ll_unwind_state* state, uint16_t* reason) {
    uintptr_t pc = state->registers[LL_CFI_RETURN_ADDRESS];
    bool is_exact = state->flags & LL_NODE_exact_pc;
    struct ll_cfi_row row;
    if (ll_cfi_find(is_exact ? pc : pc - 1, &row) != LL_CFI_FOUND) {
        return stop(reason, LL_STOP_no_unwind_table);
    }
    enum ll_step step;
    do {
        reader->beyond = 0;
        step = ll_unwind_apply(&row, reader, state, reason);
    } while (step == LL_STEP_STOPPED && reader->beyond != 0 &&
             ll_bounds_widen(others, reader->beyond, &reader->bounds));
    return step;
}
