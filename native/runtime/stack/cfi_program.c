// Interprets the instructions of a table entry, which say how the row changes from one
// code address to the next.
#include <string.h>

#include "stack/bytes.h"
#include "stack/cfi.h"

enum { REMEMBERED_MAX = 6 };

// The three frequent instructions keep their operand in the low six bits.
enum { ADVANCE_SHORT = 1, OFFSET_SHORT = 2, RESTORE_SHORT = 3 };

enum instruction {
    NOP = 0x00,
    SET_LOCATION = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEFINE_CFA = 0x0c,
    DEFINE_CFA_REGISTER = 0x0d,
    DEFINE_CFA_OFFSET = 0x0e,
    DEFINE_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SIGNED = 0x11,
    DEFINE_CFA_SIGNED = 0x12,
    DEFINE_CFA_OFFSET_SIGNED = 0x13,
    VALUE_OFFSET = 0x14,
    VALUE_OFFSET_SIGNED = 0x15,
    VALUE_EXPRESSION = 0x16,
    ADVANCE_8 = 0x1d,
    ARGUMENTS_SIZE = 0x2e,
    NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct state {
    struct ll_cfi_rule cfa;
    struct ll_cfi_rule registers[LL_CFI_REGISTERS];
};

struct run {
    const struct ll_cfi_program* program;
    const struct ll_cfi_row* initial;
    struct ll_cfi_row* row;
    struct ll_bytes bytes;
    uint64_t location;
    unsigned remembered_count;
    struct state remembered[REMEMBERED_MAX];
};

// An offset of more than 31 bits is no frame of a real program.
static int32_t checked_offset(struct run* run, int64_t value) {
    if (value != (int32_t)value) {
        run->bytes.bad = true;
    }
    return (int32_t)value;
}

static void set_rule(struct run* run, uint64_t reg, enum ll_cfi_kind kind,
                     int64_t value) {
    int32_t offset = checked_offset(run, value);
    if (reg < LL_CFI_REGISTERS) {
        run->row->registers[reg] =
            (struct ll_cfi_rule){.kind = (uint8_t)kind, .value = offset};
    }
}

// Offsets are stored divided by the data factor; a wrapped product fails its check.
static int64_t scaled(const struct run* run, uint64_t factored) {
    return (int64_t)(factored * (uint64_t)run->program->data_factor);
}

static void restore(struct run* run, uint64_t reg) {
    if (reg < LL_CFI_REGISTERS && run->initial != NULL) {
        run->row->registers[reg] = run->initial->registers[reg];
    }
}

static void set_cfa_register(struct run* run, uint64_t reg) {
    run->row->cfa.kind = LL_CFI_REGISTER;
    run->row->cfa.reg = (uint8_t)reg;
    if (reg >= LL_CFI_REGISTERS) {
        run->bytes.bad = true;
    }
}

static void set_cfa_offset(struct run* run, int64_t offset) {
    run->row->cfa.value = checked_offset(run, offset);
}

// Leaves the expression unread; gives its place relative to the row's base.
static int64_t expression(struct run* run) {
    int64_t place = run->bytes.at - run->row->base;
    ll_bytes_skip(&run->bytes, ll_bytes_uleb(&run->bytes));
    return place;
}

static void remember(struct run* run) {
    if (run->remembered_count == REMEMBERED_MAX) {
        run->bytes.bad = true;
        return;
    }
    struct state* state = &run->remembered[run->remembered_count++];
    state->cfa = run->row->cfa;
    memcpy(state->registers, run->row->registers, sizeof state->registers);
}

static void recall(struct run* run) {
    if (run->remembered_count == 0) {
        run->bytes.bad = true;
        return;
    }
    const struct state* state = &run->remembered[--run->remembered_count];
    run->row->cfa = state->cfa;
    memcpy(run->row->registers, state->registers, sizeof state->registers);
}

static void advance(struct run* run, uint64_t delta) {
    run->location += delta * run->program->code_factor;
}

// Instructions that move on to a later code address. False for any other.
static bool run_advance(struct run* run, uint8_t instruction) {
    struct ll_bytes* bytes = &run->bytes;
    switch (instruction) {
    case SET_LOCATION:
        run->location = ll_bytes_encoded(bytes, run->program->pointer_encoding, 0);
        return true;
    case ADVANCE_1:
        advance(run, ll_bytes_u8(bytes));
        return true;
    case ADVANCE_2:
        advance(run, ll_bytes_fixed(bytes, 2));
        return true;
    case ADVANCE_4:
        advance(run, ll_bytes_u32(bytes));
        return true;
    case ADVANCE_8:
        advance(run, ll_bytes_fixed(bytes, 8));
        return true;
    default:
        return false;
    }
}

// Instructions about the CFA. False for any other.
static bool run_cfa(struct run* run, uint8_t instruction) {
    struct ll_bytes* bytes = &run->bytes;
    switch (instruction) {
    case DEFINE_CFA:
        set_cfa_register(run, ll_bytes_uleb(bytes));
        set_cfa_offset(run, (int64_t)ll_bytes_uleb(bytes));
        return true;
    case DEFINE_CFA_SIGNED:
        set_cfa_register(run, ll_bytes_uleb(bytes));
        set_cfa_offset(run, scaled(run, (uint64_t)ll_bytes_sleb(bytes)));
        return true;
    case DEFINE_CFA_REGISTER:
        set_cfa_register(run, ll_bytes_uleb(bytes));
        return true;
    case DEFINE_CFA_OFFSET:
        set_cfa_offset(run, (int64_t)ll_bytes_uleb(bytes));
        return true;
    case DEFINE_CFA_OFFSET_SIGNED:
        set_cfa_offset(run, scaled(run, (uint64_t)ll_bytes_sleb(bytes)));
        return true;
    case DEFINE_CFA_EXPRESSION:
        run->row->cfa.kind = LL_CFI_EXPRESSION;
        set_cfa_offset(run, expression(run));
        return true;
    default:
        return false;
    }
}

static void move_register(struct run* run, uint64_t reg, uint64_t source) {
    set_rule(run, reg, LL_CFI_REGISTER, 0);
    if (source >= LL_CFI_REGISTERS) {
        set_rule(run, reg, LL_CFI_UNDEFINED, 0);
    } else if (reg < LL_CFI_REGISTERS) {
        run->row->registers[reg].reg = (uint8_t)source;
    }
}

// Instructions about one register. Malformed tables end here too.
static void run_register(struct run* run, uint8_t instruction) {
    struct ll_bytes* bytes = &run->bytes;
    uint64_t reg = ll_bytes_uleb(bytes);
    switch (instruction) {
    case OFFSET_EXTENDED:
        set_rule(run, reg, LL_CFI_SAVED, scaled(run, ll_bytes_uleb(bytes)));
        break;
    case OFFSET_EXTENDED_SIGNED:
        set_rule(run, reg, LL_CFI_SAVED, scaled(run, (uint64_t)ll_bytes_sleb(bytes)));
        break;
    case NEGATIVE_OFFSET_EXTENDED:
        set_rule(run, reg, LL_CFI_SAVED, -scaled(run, ll_bytes_uleb(bytes)));
        break;
    case VALUE_OFFSET:
        set_rule(run, reg, LL_CFI_CFA, scaled(run, ll_bytes_uleb(bytes)));
        break;
    case VALUE_OFFSET_SIGNED:
        set_rule(run, reg, LL_CFI_CFA, scaled(run, (uint64_t)ll_bytes_sleb(bytes)));
        break;
    case RESTORE_EXTENDED:
        restore(run, reg);
        break;
    case UNDEFINED:
        set_rule(run, reg, LL_CFI_UNDEFINED, 0);
        break;
    case SAME_VALUE:
        set_rule(run, reg, LL_CFI_UNCHANGED, 0);
        break;
    case REGISTER:
        move_register(run, reg, ll_bytes_uleb(bytes));
        break;
    case EXPRESSION:
        set_rule(run, reg, LL_CFI_SAVED_EXPRESSION, expression(run));
        break;
    case VALUE_EXPRESSION:
        set_rule(run, reg, LL_CFI_EXPRESSION, expression(run));
        break;
    default:
        bytes->bad = true;
    }
}

static void run_long(struct run* run, uint8_t instruction) {
    if (run_advance(run, instruction) || run_cfa(run, instruction)) {
        return;
    }
    switch (instruction) {
    case NOP:
        break;
    case REMEMBER_STATE:
        remember(run);
        break;
    case RESTORE_STATE:
        recall(run);
        break;
    case ARGUMENTS_SIZE:
        ll_bytes_uleb(&run->bytes);
        break;
    default:
        run_register(run, instruction);
    }
}

static void run_one(struct run* run) {
    uint8_t instruction = ll_bytes_u8(&run->bytes);
    uint8_t operand = instruction & 0x3f;
    switch (instruction >> 6) {
    case ADVANCE_SHORT:
        advance(run, operand);
        break;
    case OFFSET_SHORT:
        set_rule(run, operand, LL_CFI_SAVED, scaled(run, ll_bytes_uleb(&run->bytes)));
        break;
    case RESTORE_SHORT:
        restore(run, operand);
        break;
    default:
        run_long(run, instruction);
    }
}

bool ll_cfi_run(const struct ll_cfi_program* program, uintptr_t location,
                uintptr_t target, const struct ll_cfi_row* initial,
                struct ll_cfi_row* row) {
    struct run run = {.program = program,
                      .initial = initial,
                      .row = row,
                      .bytes = {.at = program->start, .end = program->end},
                      .location = location};
    // What stands before an advance past the target still holds at the target.
    while (run.bytes.at < run.bytes.end && !run.bytes.bad && run.location <= target) {
        run_one(&run);
    }
    return !run.bytes.bad;
}
