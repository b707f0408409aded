// Compares captured stacks with those of the compiler's own unwinder.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

#include "check.h"
#include "format/records.h"
#include "stack/stack.h"

enum { DEPTH = 64, ORACLE_MAX = 20000 };

// What the test started the stacks with.
static unsigned depth_kept = DEPTH;

struct oracle {
    uintptr_t start_sp; // frames inside of this one are the test's own
    unsigned count;     // innermost first
    uintptr_t pcs[ORACLE_MAX];
};

static _Unwind_Reason_Code oracle_frame(struct _Unwind_Context* context,
                                        void* argument) {
    struct oracle* oracle = argument;
    // libgcc gives the CFA of the frame that was called, which is this frame's rsp.
    bool started = oracle->count > 0 || _Unwind_GetCFA(context) == oracle->start_sp;
    if (started && oracle->count < ORACLE_MAX && _Unwind_GetIP(context) != 0) {
        oracle->pcs[oracle->count++] = _Unwind_GetIP(context);
    }
    return _URC_NO_REASON;
}

static _Thread_local struct oracle oracle;
static _Atomic unsigned stacks_compared;

static bool is_fold(uint32_t node) {
    struct ll_node found;
    return ll_node_get(node, &found) && found.flags == LL_NODE_folded && found.pc == 0;
}

// The index, counted from the outermost frame, of the first frame inside the fold.
static unsigned expected_fold_end(unsigned count) {
    unsigned quarter = depth_kept / 4;
    unsigned end = count - (depth_kept - quarter);
    while (quarter > 1 && end % quarter != 0) {
        end++;
    }
    return end;
}

static bool node_has_pc(uint32_t node, uintptr_t pc, uint32_t* parent) {
    struct ll_node found;
    bool exists = ll_node_get(node, &found);
    *parent = exists ? found.parent : 0;
    return exists && found.pc == pc;
}

static bool matches_oracle(uint32_t node) {
    unsigned inner = oracle.count;
    unsigned outer_start = oracle.count;
    if (oracle.count > depth_kept) {
        inner = oracle.count - expected_fold_end(oracle.count);
        outer_start = oracle.count - depth_kept / 4;
    }
    for (unsigned i = 0; i < inner; i++) {
        if (!node_has_pc(node, oracle.pcs[i], &node)) {
            return false;
        }
    }
    if (oracle.count > depth_kept) {
        if (!is_fold(node)) {
            return false;
        }
        node_has_pc(node, 0, &node);
    }
    for (unsigned i = outer_start; i < oracle.count; i++) {
        if (!node_has_pc(node, oracle.pcs[i], &node)) {
            return false;
        }
    }
    return node == 0;
}

static void print_difference(uint32_t node) {
    struct ll_node found;
    fprintf(stderr, "captured:");
    for (; ll_node_get(node, &found); node = found.parent) {
        fprintf(stderr, " %lx/%x/%u", (unsigned long)found.pc, found.flags,
                found.reason);
    }
    fprintf(stderr, "\nexpected:");
    for (unsigned i = 0; i < oracle.count; i++) {
        fprintf(stderr, " %lx", (unsigned long)oracle.pcs[i]);
    }
    fprintf(stderr, "\n");
}

// Stands for an entry function of the runtime: captures its caller's stack, compares it
// with the oracle and gives its node.
static __attribute__((noinline, unused)) uint32_t capture_and_compare(void) {
    struct ll_caller caller = LL_CALLER();
    uint32_t node = ll_stack_capture(caller);
    oracle.count = 0;
    oracle.start_sp = caller.sp;
    _Unwind_Backtrace(oracle_frame, &oracle);
    stacks_compared++;
    bool matches = matches_oracle(node);
    CHECK(matches);
    if (!matches && failures < 10) {
        print_difference(node);
    }
    return node;
}

// A capture alone, as fast as the program would do it.
static __attribute__((noinline, unused)) uint32_t capture(void) {
    return ll_stack_capture(LL_CALLER());
}

// Keeps a call from becoming a jump, so that its frame stays on the stack.
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
