// Deep stacks: what is kept of them, and that captures stay right while a recursion
// goes down and comes back.
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "stack/levels.h"
#include "stack_oracle.h"

static __attribute__((noinline)) void recurse_and_compare(unsigned depth,
                                                          unsigned every) {
    if (depth % every == 0) {
        capture_and_compare();
    }
    if (depth > 0) {
        recurse_and_compare(depth - 1, every);
    }
    if (depth % every == 1) {
        capture_and_compare();
    }
    KEEP_FRAME();
}

static void each_depth_keeps_the_right_frames(void) {
    for (unsigned depth = 1; depth < 200; depth += 7) {
        recurse_and_compare(depth, 1);
    }
    recurse_and_compare(1000, 3);
    recurse_and_compare(5000, 101);
}

static unsigned chain_length(uint32_t node, uint16_t* root_flags,
                             uint16_t* root_reason) {
    unsigned length = 0;
    struct ll_node found;
    for (; ll_node_get(node, &found); node = found.parent) {
        length++;
        *root_flags = found.flags;
        *root_reason = found.reason;
    }
    return length;
}

static __attribute__((noinline)) uint32_t capture_below(unsigned depth) {
    uint32_t node = depth > 0 ? capture_below(depth - 1) : capture();
    KEEP_FRAME();
    return node;
}

static void walk_deeper_than_it_goes_says_so(void) {
    uint16_t flags = 0;
    uint16_t reason = 0;
    uint32_t node = capture_below(3 * LL_LEVELS_MAX);
    unsigned length = chain_length(node, &flags, &reason);
    CHECK(length > DEPTH / 2 && length <= DEPTH + 1);
    CHECK(flags == LL_NODE_stopped && reason == LL_STOP_depth);
    CHECK(capture_below(3 * LL_LEVELS_MAX) == node);
}

// Captures on the way down and up again; what is found on the way down has its
// outermost frames however deep it gets.
static __attribute__((noinline)) void go_down(unsigned depth, unsigned* complete) {
    uint16_t flags = 0;
    uint16_t reason = 0;
    CHECK(chain_length(capture(), &flags, &reason) <= DEPTH + 1);
    *complete += flags == 0;
    if (depth > 0) {
        go_down(depth - 1, complete);
    }
    CHECK(chain_length(capture(), &flags, &reason) <= DEPTH + 1);
    KEEP_FRAME();
}

static void recursion_beyond_the_levels_stays_anchored(void) {
    unsigned complete = 0;
    unsigned depth = 2 * LL_LEVELS_MAX + 100;
    uint32_t before = ll_node_count();
    go_down(depth, &complete);
    CHECK(complete == depth + 1);
    CHECK(ll_node_count() - before < 2000);
}

static void* run_on_a_large_stack(void* argument) {
    each_depth_keeps_the_right_frames();
    walk_deeper_than_it_goes_says_so();
    recursion_beyond_the_levels_stays_anchored();
    recurse_and_compare(30, 1);
    return argument;
}

int main(void) {
    CHECK(ll_stack_start(DEPTH));
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)512 << 20);
    CHECK(pthread_create(&thread, &attributes, run_on_a_large_stack, NULL) == 0);
    pthread_join(thread, NULL);
    return failures != 0;
}
