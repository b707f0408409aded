// Stacks that are told by contexts: they are those of the compiler's own unwinder, and
// a context counts for one call, of code that hands contexts over.
#include "stack/handed.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

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

static uint32_t recalled;

// As malloc asks: only what is not remembered is captured.
static LL_NOINLINE uint32_t recall_or_capture(uint64_t context) {
    handed = context;
    uint32_t node = ll_handed_recall(LL_CALLER());
    recalled += node != 0;
    CHECK(handed == (node != 0 ? 0 : context));
    node = node != 0 ? node : ll_stack_capture(LL_CALLER());
    KEEP_FRAME();
    return node;
}

static void only_what_was_captured_is_recalled(void) {
    uint32_t first = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t node = recall_or_capture(3000);
        CHECK(node != 0 && (first == 0 || node == first));
        CHECK(recalled == i);
        first = node;
    }
    recall_or_capture(0);
    CHECK(recalled == 3);
}

enum { INTERRUPTIONS = 200 };

static volatile sig_atomic_t interruptions;

static void set_timer(int interval_us) {
    struct itimerval timer = {{0, interval_us}, {0, interval_us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

// Its stacks take the places of those that the interrupted code recalls. Where it takes
// longer than the timer, the interrupted code goes on only at the end.
static void on_alarm(int number) {
    (void)number;
    uint64_t interrupted = handed;
    for (uint64_t i = 0; i < 1 << LL_HANDED_BITS; i++) {
        capture_with(10000 + i);
        free_with(10000 + i, 0);
    }
    handed = interrupted;
    interruptions = interruptions + 1;
    if (interruptions == INTERRUPTIONS) {
        set_timer(0);
    }
}

static void a_handler_may_replace_what_is_recalled(void) {
    enum { CONTEXTS = 8, ROUNDS = 1000 };
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    set_timer(2000);
    uint32_t first = 0;
    bool is_same = true;
    // ThreadSanitizer keeps signals back until a call like that of time.
    time_t end = time(NULL) + 60;
    while (interruptions < INTERRUPTIONS && time(NULL) < end) {
        for (uint64_t i = 0; i < ROUNDS; i++) {
            uint32_t node = recall_or_capture(4000 + i % CONTEXTS);
            is_same = is_same && node != 0 && (first == 0 || node == first);
            first = node;
        }
    }
    CHECK(interruptions >= INTERRUPTIONS);
    CHECK(is_same);
    CHECK(recalled > INTERRUPTIONS);
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
    only_what_was_captured_is_recalled();
    a_handler_may_replace_what_is_recalled();
    contexts_of_other_code_are_not_believed();
    a_second_variable_is_refused();
    unloading_code_makes_stacks_void();
    CHECK(stacks_compared > 3 * WALKS);
    return failures != 0;
}
