// Shorter stacks for programs with more of them than anybody can read: a recursion with
// two call sites has a stack of its own for almost every block. The outermost and the
// innermost frames are kept, and a node says that those between were left out.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { LL_CONDENSE_MEMO = 1024 };

struct ll_condenser {
    unsigned inner; // innermost frames kept; 0 while stacks are kept as they are
    // Recent answers, by node.
    struct {
        uint32_t node;
        uint32_t condensed;
    } memo[LL_CONDENSE_MEMO];
};

// Keeps fewer frames than before. Returns false when there are no fewer.
bool ll_condense_more(struct ll_condenser* condenser);

// The node of the condensed stack, made if there is none. Condensing what was condensed
// before gives the same as condensing the whole stack.
uint32_t ll_condense(struct ll_condenser* condenser, uint32_t node);
