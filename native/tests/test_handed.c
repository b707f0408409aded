// Stacks that are told by contexts: they are those of the compiler's own unwinder, and
// a context counts for one call, of code that hands contexts over.
#include "stack/handed.h"

#include <stdlib.h>

#include "stack/frames.h"
#include "stack_oracle.h"

enum { WALKS = 1000 };

static _Thread_local uint64_t handed;

extern char __executable_start; // NOLINT(bugprone-reserved-identifier): the linker's
extern char etext;

static void hand_over_from_all_code(void) {
    CHECK(
        ll_handed_add_code((uintptr_t)&__executable_start, (uintptr_t)&etext, &handed));
}

static LL_NOINLINE void allocate(uint64_t context) {
    handed = context;
    capture_and_compare();
    CHECK(handed == 0);
}

// Two ways into each step, as calls at two places of a program are.
#define DEFINE_STEP(name, next)                                                        \
    static LL_NOINLINE void name(uint64_t context) {                                   \
        if (rand() % 2 == 0) {                                                         \
            next(3 * context + 1);                                                     \
            KEEP_FRAME();                                                              \
        } else {                                                                       \
            next(3 * context + 2);                                                     \
            KEEP_FRAME();                                                              \
        }                                                                              \
    }

DEFINE_STEP(inner, allocate)
DEFINE_STEP(middle, inner)
DEFINE_STEP(outer, middle)

// `context` tells from where it is called, as each caller has to.
static void stacks_are_those_of_the_unwinder(uint64_t context) {
    for (unsigned i = 0; i < WALKS; i++) {
        outer(context);
    }
}

// All captures come from one place.
static LL_NOINLINE uint32_t capture_with(uint64_t context) {
    handed = context;
    uint32_t node = capture();
    KEEP_FRAME();
    return node;
}

static void contexts_that_differ_may_have_one_stack(void) {
    volatile uint64_t context = 1000;
    uint32_t first = 0;
    while (context < 1008) {
        uint32_t node = capture_with(context);
        CHECK(node != 0 && (first == 0 || node == first));
        first = node;
        context = context + 1;
    }
}

static LL_NOINLINE void allocate_deeper(void) {
    allocate(5);
    KEEP_FRAME();
}

static LL_NOINLINE void allocate_one_way(void) {
    allocate_deeper();
    KEEP_FRAME();
}

static LL_NOINLINE void allocate_another_way(void) {
    allocate_deeper();
    KEEP_FRAME();
}

static LL_NOINLINE uint32_t free_with(uint64_t context, unsigned depth) {
    uint32_t node;
    if (depth > 0) {
        node = free_with(context, depth - 1);
    } else {
        handed = context;
        node = ll_stack_capture_any_depth(LL_CALLER());
        CHECK(handed == 0);
    }
    KEEP_FRAME();
    return node;
}

static void frees_of_one_context_share_a_stack_at_any_depth(void) {
    uint32_t first = free_with(2000, 2);
    CHECK(first != 0);
    for (unsigned depth = 1; depth < 8; depth++) {
        CHECK(free_with(2000, depth) == first);
        CHECK(free_with(2001, depth) != 0);
    }
    CHECK(free_with(2002, 5) != first);
}

// What other code finds in the variable was not meant for it.
static void contexts_of_other_code_are_not_believed(void) {
    ll_handed_forget_code();
    for (unsigned i = 0; i < 4; i++) {
        allocate_one_way();
        allocate_another_way();
    }
    hand_over_from_all_code();
}

static void a_second_variable_is_refused(void) {
    static _Thread_local uint64_t another;
    CHECK(!ll_handed_add_code(0, UINTPTR_MAX, &another));
}

static void unloading_code_makes_stacks_void(void) {
    stacks_are_those_of_the_unwinder(300);
    ll_frames_forget();
    stacks_are_those_of_the_unwinder(600);
}

int main(void) {
    CHECK(ll_stack_start(DEPTH));
    hand_over_from_all_code();
    stacks_are_those_of_the_unwinder(1);
    contexts_that_differ_may_have_one_stack();
    frees_of_one_context_share_a_stack_at_any_depth();
    contexts_of_other_code_are_not_believed();
    a_second_variable_is_refused();
    unloading_code_makes_stacks_void();
    CHECK(stacks_compared > 3 * WALKS);
    return failures != 0;
}
