// A walk that follows all registers.
#include <string.h>

#include "format/records.h"
#include "stack/frames.h"
#include "stack/levels.h"
#include "stack/trie.h"

// The registers that a walk needs, at a place inside the calling function.
static inline __attribute__((always_inline)) void
registers_here(struct ll_unwind_state* state) {
    uint64_t* registers = state->registers;
    __asm__ volatile("movq %%rbx, %0\n\tmovq %%rbp, %1\n\tmovq %%rsp, %2"
                     : "=m"(registers[LL_RBX]), "=m"(registers[LL_RBP]),
                       "=m"(registers[LL_RSP]));
    __asm__ volatile("movq %%r12, %0\n\tmovq %%r13, %1\n\tmovq %%r14, %2\n\t"
                     "movq %%r15, %3"
                     : "=m"(registers[12]), "=m"(registers[13]), "=m"(registers[14]),
                       "=m"(registers[15]));
    uint64_t pc;
    __asm__ volatile("leaq 0(%%rip), %0" : "=r"(pc));
    registers[LL_CFI_RETURN_ADDRESS] = pc;
    state->known = 1U << LL_RBX | 1U << LL_RBP | 1U << LL_RSP | 0x1fU << 12;
    state->flags = LL_NODE_exact_pc;
}

// Leaves our own frames, so that `state` is the caller's.
static bool leave_runtime(struct ll_other_stacks* others,
                          struct ll_stack_reader* reader,
                          const struct ll_caller* caller,
                          struct ll_unwind_state* state) {
    uint16_t reason;
    while (state->registers[LL_RSP] < caller->sp) {
        if (ll_unwind_caller(others, reader, state, &reason) != LL_STEP_CALLER) {
            return false;
        }
    }
    return state->registers[LL_RSP] == caller->sp &&
           state->registers[LL_CFI_RETURN_ADDRESS] == caller->pc;
}

static void keep_state(struct ll_walker* walker, const struct ll_unwind_state* state,
                       bool* kept) {
    struct ll_frame frame = {.sp = state->registers[LL_RSP],
                             .pc = state->registers[LL_CFI_RETURN_ADDRESS],
                             .flags = state->flags};
    *kept = ll_frame_keep(walker, frame);
}

static enum ll_step collect(struct ll_walker* walker, struct ll_stack_reader* reader,
                            struct ll_unwind_state* state, uint16_t* reason) {
    enum ll_step step = LL_STEP_CALLER;
    while (step == LL_STEP_CALLER) {
        bool kept;
        keep_state(walker, state, &kept);
        if (!kept) {
            *reason = LL_STOP_depth;
            return LL_STEP_STOPPED;
        }
        uintptr_t sp = state->registers[LL_RSP];
        if (!ll_bounds_contain(reader->bounds, sp) &&
            !ll_bounds_at(&walker->other_stacks, sp, &reader->bounds)) {
            *reason = LL_STOP_outside_stack;
            return LL_STEP_STOPPED;
        }
        step = ll_unwind_caller(&walker->other_stacks, reader, state, reason);
        if (step == LL_STEP_CALLER && state->flags & LL_NODE_exact_pc) {
            walker->frames[walker->frame_count - 1].flags |= LL_NODE_signal;
        }
    }
    return step;
}

LL_COLD uint32_t ll_frames_capture_fully(struct ll_walker* walker,
                                         const struct ll_caller* caller) {
    struct ll_unwind_state state = {.known = 0};
    registers_here(&state);
    struct ll_stack_reader reader = {.bounds = walker->bounds,
                                     .wanted = LL_ALL_REGISTERS};
    uint16_t reason = LL_STOP_expression;
    if (!leave_runtime(&walker->other_stacks, &reader, caller, &state)) {
        unsigned flags = LL_NODE_stopped;
        return ll_trie_child(0, ll_node_key_of(caller->pc, flags, reason));
    }
    walker->frame_count = 0;
    enum ll_step step = collect(walker, &reader, &state, &reason);
    ll_frames_set_outermost(walker, step, reason);
    return ll_frames_node(walker);
}
