#include "lens/jumps.h"

#include <stdbool.h>
#include <stddef.h>

#include "heap/inspect.h"
#include "lens/contexts.h"
#include "lens/stamps.h"
#include "patch/sites.h"
#include "stack/bounds.h"
#include "stack/stack.h"

// Of so many functions that are left it is known what their variables lost.
enum { FRAMES_MAX = 64 };

// Who called each of the functions on the stack that jumps, innermost first: nodes.
struct callers {
    uint32_t nodes[FRAMES_MAX];
    size_t count;
};

static void find_callers(uint32_t node, struct callers* callers) {
    uintptr_t pc;
    callers->count = 0;
    while (callers->count < FRAMES_MAX && ll_node_step(node, &pc, &node)) {
        callers->nodes[callers->count++] = node;
    }
}

// True when the last that is known of a block is that a variable of one of the
// functions lost it: an old copy of the variable may still lie in its frame. The stack
// of a context ends in the function that stamps and in the one of the compiler's own
// that it calls.
static bool is_lost_by_frame(uintptr_t pointer, const struct callers* callers) {
    struct ll_granule_stamp stamp = *ll_stamp_of(pointer);
    uintptr_t pc;
    uint32_t stamping;
    uint32_t caller;
    if (!ll_is_site_of_variable(ll_stamp_caller(stamp)) ||
        !ll_node_step(ll_context_stack(ll_stamp_place(stamp)), &pc, &stamping) ||
        !ll_node_step(stamping, &pc, &caller)) {
        return false;
    }
    for (size_t i = 0; i < callers->count; i++) {
        if (callers->nodes[i] == caller) {
            return true;
        }
    }
    return false;
}

// Jumps to another stack leave no frame.
static bool is_one_stack(uintptr_t start, uintptr_t end) {
    struct ll_other_stacks others = {0};
    struct ll_stack_bounds bounds;
    return start < end && ll_bounds_at(&others, start, &bounds) &&
           ll_bounds_contain(bounds, end - 1);
}

void ll_jump_over(uintptr_t start, uintptr_t end, uint32_t node) {
    if (!is_one_stack(start, end)) {
        return;
    }
    struct callers callers;
    find_callers(node, &callers);
    for (uintptr_t slot = start; slot < end; slot += sizeof(uint64_t)) {
        uintptr_t pointer = *(const uintptr_t*)slot;
        if (ll_is_heap_address(pointer) && !is_lost_by_frame(pointer, &callers)) {
            ll_stamp_jumped_over(slot, pointer, node);
        }
    }
}
