// Who stores: what a stamp or a birth tells about the code that a hook was called for.
// That is the store and the return address of its frame, or, when whole call stacks are
// wanted, the store and the node of its caller's stack.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

// A hook's view of the store.
struct ll_storer {
    uint64_t caller;       // return address of the frame that stores; 0 if unknown
    const uint64_t* place; // the hook's own return address, where it lies on the stack
    uint64_t rbp;          // at the store
    // What lies between the hook's return address and the stack pointer of the store;
    // a trampoline that saves flags has pushed one word more.
    uint32_t pushed_bytes;
};

// A return address, or with this bit, which no address of a program has, a node.
#define LL_ORIGIN_STACK (UINT64_C(1) << 47)

struct ll_origin {
    uint64_t caller;
    uint32_t place;
};

LL_IN_HOOK struct ll_origin ll_origin_of(const struct ll_storer* storer);

// The two ways to tell the stack of a store's caller, 0 when it is not known:
struct ll_caller_stacks {
    // Only what is remembered, with the help of no more than the registers xmm0 to 15.
    uint32_t (*recall)(const struct ll_storer* storer);
    // Whatever that takes.
    uint32_t (*take)(const struct ll_storer* storer);
};

// From now on origins have stacks. Before any hook runs. False, and nothing changes, on
// processors that cannot save all registers quickly.
bool ll_origins_have_stacks(struct ll_caller_stacks stacks);
bool ll_origins_with_stacks(void);
