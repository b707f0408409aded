// Deep stacks: what is kept of them, and that captures stay right while a recursion
// goes down and comes back.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Whether the node's frames are frames of the oracle's stack from `at` on, in the same
// order, with nothing left out except where a fold stands.
static bool is_true_to_oracle(uint32_t node, unsigned at) {
    struct ll_node found;
    for (; ll_node_get(node, &found); node = found.parent) {
        if (found.flags & LL_NODE_folded) {
            while (at < oracle.count && !is_true_to_oracle(found.parent, at)) {
                at++;
            }
            return at < oracle.count;
        }
        if (at == oracle.count || oracle.pcs[at] != found.pc) {
            return false;
        }
        at++;
    }
    return at == oracle.count;
}

static __attribute__((noinline)) void check_is_true(void) {
    struct ll_caller caller = LL_CALLER();
    uint32_t node = ll_stack_capture(caller);
    oracle.count = 0;
    oracle.start_sp = caller.sp;
    _Unwind_Backtrace(oracle_frame, &oracle);
    CHECK(is_true_to_oracle(node, 0));
}

// As many stacks as calls: each call knows which way its callers went.
static __attribute__((noinline)) unsigned build_tree(unsigned depth) {
    unsigned built = 1;
    if (depth > 0) {
        built += build_tree(depth - 1);
        KEEP_FRAME();
        built += build_tree(depth - 1);
        KEEP_FRAME();
    }
    if (rand() % 500 == 0) {
        check_is_true();
    } else {
        capture();
    }
    KEEP_FRAME();
    return built;
}

static void branching_recursion_does_not_fill_the_trie(void) {
    unsigned built = build_tree(16);
    CHECK(built == (2U << 16) - 1);
    uint32_t before = ll_node_count();
    CHECK(before > 1 << 16);
    CHECK(before < 1 << 17);
    CHECK(build_tree(17) == (2U << 17) - 1);
    CHECK(ll_node_count() < before + 5000);
}

static void* run_on_a_large_stack(void* argument) {
    CHECK(ll_stack_start(depth_kept));
    each_depth_keeps_the_right_frames();
    if (depth_kept == DEPTH) {
        walk_deeper_than_it_goes_says_so();
        recursion_beyond_the_levels_stays_anchored();
    }
    recurse_and_compare(30, 1);
    if (depth_kept == DEPTH) {
        branching_recursion_does_not_fill_the_trie();
    }
    return argument;
}

static void run_in_thread(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)512 << 20);
    CHECK(pthread_create(&thread, &attributes, run_on_a_large_stack, NULL) == 0);
    pthread_join(thread, NULL);
}

// A process keeps the depth with which it started.
static void run_in_process(unsigned depth) {
    pid_t child = fork();
    if (child == 0) {
        depth_kept = depth;
        run_in_thread();
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

int main(void) {
    static const unsigned depths[] = {1, 2, 5, 17, 100, 256, DEPTH};
    for (unsigned i = 0; i < sizeof depths / sizeof *depths; i++) {
        run_in_process(depths[i]);
    }
    return failures != 0;
}
