// Evaluates the DWARF expressions that stand in unwind tables: the procedure linkage
// table's, those of functions that align their stack, and the signal trampoline's.
#include <string.h>

#include "stack/bytes.h"
#include "stack/unwind.h"

enum { STACK_MAX = 16, STEPS_MAX = 512 };

enum operation {
    ADDRESS = 0x03,
    DEREFERENCE = 0x06,
    CONSTANT_1U = 0x08,
    CONSTANT_8S = 0x0f,
    CONSTANT_U = 0x10,
    CONSTANT_S = 0x11,
    DUPLICATE = 0x12,
    DROP = 0x13,
    OVER = 0x14,
    PICK = 0x15,
    SWAP = 0x16,
    ROTATE = 0x17,
    ABSOLUTE = 0x19,
    AND = 0x1a,
    DIVIDE = 0x1b,
    MINUS = 0x1c,
    MODULO = 0x1d,
    MULTIPLY = 0x1e,
    NEGATE = 0x1f,
    NOT = 0x20,
    OR = 0x21,
    PLUS = 0x22,
    PLUS_CONSTANT = 0x23,
    SHIFT_LEFT = 0x24,
    SHIFT_RIGHT = 0x25,
    SHIFT_ARITHMETIC = 0x26,
    XOR = 0x27,
    BRANCH = 0x28,
    EQUAL = 0x29,
    GREATER_EQUAL = 0x2a,
    GREATER = 0x2b,
    LESS_EQUAL = 0x2c,
    LESS = 0x2d,
    NOT_EQUAL = 0x2e,
    SKIP = 0x2f,
    LITERAL_0 = 0x30,
    LITERAL_31 = 0x4f,
    BASE_REGISTER_0 = 0x70,
    BASE_REGISTER_31 = 0x8f,
    BASE_REGISTER_X = 0x92,
    NO_OPERATION = 0x96,
};

struct machine {
    struct ll_bytes bytes;
    const uint8_t* start;
    struct ll_stack_reader* reader;
    const struct ll_unwind_state* state;
    unsigned depth;
    uint64_t stack[STACK_MAX];
};

static void fail(struct machine* machine) {
    machine->bytes.bad = true;
}

static void push(struct machine* machine, uint64_t value) {
    if (machine->depth == STACK_MAX) {
        fail(machine);
    } else {
        machine->stack[machine->depth++] = value;
    }
}

static uint64_t pop(struct machine* machine) {
    if (machine->depth == 0) {
        fail(machine);
        return 0;
    }
    return machine->stack[--machine->depth];
}

// The value `below` places under the top.
static uint64_t peek(struct machine* machine, unsigned below) {
    if (below >= machine->depth) {
        fail(machine);
        return 0;
    }
    return machine->stack[machine->depth - 1 - below];
}

static void push_register(struct machine* machine, uint64_t reg) {
    uint64_t offset = (uint64_t)ll_bytes_sleb(&machine->bytes);
    if (reg >= LL_CFI_REGISTERS || !(machine->state->known >> reg & 1)) {
        fail(machine);
        return;
    }
    push(machine, machine->state->registers[reg] + offset);
}

static void dereference(struct machine* machine) {
    uint64_t value = 0;
    if (!ll_stack_read(machine->reader, pop(machine), &value)) {
        fail(machine);
    }
    push(machine, value);
}

// Jumps by a signed distance that stands in the expression.
static void branch(struct machine* machine, uint64_t taken) {
    int64_t distance = ll_bytes_signed(&machine->bytes, 2);
    const uint8_t* target = machine->bytes.at + distance;
    if (!taken) {
        return;
    }
    if (target < machine->start || target > machine->bytes.end) {
        fail(machine);
    } else {
        machine->bytes.at = target;
    }
}

static void push_constant(struct machine* machine, uint8_t operation) {
    unsigned size_bytes = 1U << ((operation - CONSTANT_1U) / 2);
    bool is_signed = (operation - CONSTANT_1U) & 1;
    struct ll_bytes* bytes = &machine->bytes;
    push(machine, is_signed ? (uint64_t)ll_bytes_signed(bytes, size_bytes)
                            : ll_bytes_fixed(bytes, size_bytes));
}

// Division is signed, the remainder is not, as in other unwinders.
static uint64_t quotient(struct machine* machine, int64_t left, int64_t right) {
    if (right == 0 || (left == INT64_MIN && right == -1)) {
        fail(machine);
        return 0;
    }
    return (uint64_t)(left / right);
}

static uint64_t remainder_of(struct machine* machine, uint64_t left, uint64_t right) {
    if (right == 0) {
        fail(machine);
        return 0;
    }
    return left % right;
}

static uint64_t combine(struct machine* machine, uint8_t operation, uint64_t left,
                        uint64_t right) {
    int64_t signed_left = (int64_t)left;
    int64_t signed_right = (int64_t)right;
    switch (operation) {
    case AND:
        return left & right;
    case DIVIDE:
        return quotient(machine, signed_left, signed_right);
    case MINUS:
        return left - right;
    case MODULO:
        return remainder_of(machine, left, right);
    case MULTIPLY:
        return left * right;
    case OR:
        return left | right;
    case PLUS:
        return left + right;
    case SHIFT_LEFT:
        return right < 64 ? left << right : 0;
    case SHIFT_RIGHT:
        return right < 64 ? left >> right : 0;
    case SHIFT_ARITHMETIC:
        return (uint64_t)(signed_left >> (right < 64 ? right : 63));
    case XOR:
        return left ^ right;
    case EQUAL:
        return signed_left == signed_right;
    case GREATER_EQUAL:
        return signed_left >= signed_right;
    case GREATER:
        return signed_left > signed_right;
    case LESS_EQUAL:
        return signed_left <= signed_right;
    case LESS:
        return signed_left < signed_right;
    case NOT_EQUAL:
        return signed_left != signed_right;
    default:
        fail(machine);
        return 0;
    }
}

static void run_binary(struct machine* machine, uint8_t operation) {
    uint64_t right = pop(machine);
    uint64_t left = pop(machine);
    push(machine, combine(machine, operation, left, right));
}

static void rotate(struct machine* machine) {
    uint64_t first = pop(machine);
    uint64_t second = pop(machine);
    uint64_t third = pop(machine);
    push(machine, first);
    push(machine, third);
    push(machine, second);
}

static void swap(struct machine* machine) {
    uint64_t first = pop(machine);
    uint64_t second = pop(machine);
    push(machine, first);
    push(machine, second);
}

static uint64_t absolute(uint64_t value) {
    return (int64_t)value < 0 ? 0 - value : value;
}

// Operations that rearrange the stack or change its top; all others are binary.
static void run_other(struct machine* machine, uint8_t operation) {
    switch (operation) {
    case DUPLICATE:
        push(machine, peek(machine, 0));
        break;
    case DROP:
        pop(machine);
        break;
    case OVER:
        push(machine, peek(machine, 1));
        break;
    case PICK:
        push(machine, peek(machine, ll_bytes_u8(&machine->bytes)));
        break;
    case SWAP:
        swap(machine);
        break;
    case ROTATE:
        rotate(machine);
        break;
    case ABSOLUTE:
        push(machine, absolute(pop(machine)));
        break;
    case NEGATE:
        push(machine, 0 - pop(machine));
        break;
    case NOT:
        push(machine, ~pop(machine));
        break;
    case PLUS_CONSTANT:
        push(machine, pop(machine) + ll_bytes_uleb(&machine->bytes));
        break;
    case BRANCH:
        branch(machine, pop(machine));
        break;
    case SKIP:
        branch(machine, 1);
        break;
    case NO_OPERATION:
        break;
    default:
        run_binary(machine, operation);
    }
}

static void run_one(struct machine* machine) {
    struct ll_bytes* bytes = &machine->bytes;
    uint8_t operation = ll_bytes_u8(bytes);
    if (operation >= BASE_REGISTER_0 && operation <= BASE_REGISTER_31) {
        push_register(machine, operation - BASE_REGISTER_0);
    } else if (operation >= LITERAL_0 && operation <= LITERAL_31) {
        push(machine, operation - LITERAL_0);
    } else if (operation >= CONSTANT_1U && operation <= CONSTANT_8S) {
        push_constant(machine, operation);
    } else if (operation == BASE_REGISTER_X) {
        push_register(machine, ll_bytes_uleb(bytes));
    } else if (operation == DEREFERENCE) {
        dereference(machine);
    } else if (operation == ADDRESS) {
        push(machine, ll_bytes_fixed(bytes, 8));
    } else if (operation == CONSTANT_U) {
        push(machine, ll_bytes_uleb(bytes));
    } else if (operation == CONSTANT_S) {
        push(machine, (uint64_t)ll_bytes_sleb(bytes));
    } else {
        run_other(machine, operation);
    }
}

bool ll_expression_value(const uint8_t* start, const uint8_t* end,
                         struct ll_stack_reader* reader,
                         const struct ll_unwind_state* state, uint64_t initial,
                         uint64_t* result) {
    struct machine machine = {
        .bytes = {.at = start, .end = end}, .reader = reader, .state = state};
    uint64_t length = ll_bytes_uleb(&machine.bytes);
    struct ll_bytes rest = machine.bytes;
    ll_bytes_skip(&rest, length);
    machine.start = machine.bytes.at;
    machine.bytes.end = rest.at;
    machine.bytes.bad |= rest.bad;
    push(&machine, initial);
    for (unsigned steps = 0; machine.bytes.at < machine.bytes.end; steps++) {
        if (machine.bytes.bad || steps == STEPS_MAX) {
            return false;
        }
        run_one(&machine);
    }
    *result = pop(&machine);
    return !machine.bytes.bad;
}
