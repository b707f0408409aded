// Random call trees with captures at random places, each compared with the compiler's
// unwinder. The frames are of every kind that changes how a caller is found.
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>

#include "stack_oracle.h"

enum { TREES = 80, CAPTURES_PER_TREE = 40, THREADS = 3 };

struct tree {
    uint64_t random;
    unsigned captures_left;
    unsigned depth_max;
};

typedef void frame_function(struct tree* tree, unsigned depth);

static uint32_t random_below(struct tree* tree, uint32_t limit) {
    tree->random = tree->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(tree->random >> 33) % limit;
}

static void grow(struct tree* tree, unsigned depth);

#define OMIT_FRAME_POINTER                                                             \
    __attribute__((noinline,                                                           \
                   optimize("omit-frame-pointer", "no-optimize-sibling-calls")))
#define WITH_FRAME_POINTER __attribute__((noinline, optimize("no-omit-frame-pointer")))

static OMIT_FRAME_POINTER void plain_frame(struct tree* tree, unsigned depth) {
    grow(tree, depth);
    KEEP_FRAME();
}

static OMIT_FRAME_POINTER void large_frame(struct tree* tree, unsigned depth) {
    volatile char space[3000];
    space[depth % sizeof space] = 1;
    grow(tree, depth);
    KEEP_FRAME();
}

static WITH_FRAME_POINTER void frame_pointer_frame(struct tree* tree, unsigned depth) {
    grow(tree, depth);
    KEEP_FRAME();
}

static __attribute__((noinline)) void alloca_frame(struct tree* tree, unsigned depth) {
    size_t size = 16 + random_below(tree, 200);
    volatile char* space = alloca(size);
    space[0] = 1;
    grow(tree, depth);
    KEEP_FRAME();
}

// The stack is aligned through another register: its rule is an expression.
static __attribute__((noinline)) void aligned_frame(struct tree* tree, unsigned depth) {
    volatile char aligned[64] __attribute__((aligned(128)));
    volatile char* space = alloca(16 + random_below(tree, 100));
    space[0] = aligned[0] = 1;
    grow(tree, depth);
    KEEP_FRAME();
}

// Many values live across the call fill all callee-saved registers, rbp among them.
static OMIT_FRAME_POINTER void busy_frame(struct tree* tree, unsigned depth) {
    uint64_t a = tree->random, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    grow(tree, depth);
    __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}

static OMIT_FRAME_POINTER int many_arguments(struct tree* tree, unsigned depth, int a,
                                             int b, int c, int d, int e, int f) {
    grow(tree, depth);
    KEEP_FRAME();
    return a + b + c + d + e + f;
}

// Arguments on the stack move it around the call.
static OMIT_FRAME_POINTER void pushing_frame(struct tree* tree, unsigned depth) {
    volatile int sum = many_arguments(tree, depth, 1, 2, 3, 4, 5, 6);
    sum++;
}

static frame_function* const frames[] = {
    plain_frame,   large_frame, frame_pointer_frame, alloca_frame,
    aligned_frame, busy_frame,  pushing_frame,
};

static __attribute__((noinline)) void grow(struct tree* tree, unsigned depth) {
    unsigned branches = 1 + random_below(tree, 3);
    for (unsigned i = 0; i < branches && tree->captures_left > 0; i++) {
        bool deeper = depth < tree->depth_max && random_below(tree, 8) != 0;
        if (deeper) {
            size_t kinds = sizeof frames / sizeof *frames;
            frames[random_below(tree, (uint32_t)kinds)](tree, depth + 1);
        }
        if (tree->captures_left > 0 && (!deeper || random_below(tree, 4) == 0)) {
            capture_and_compare();
            tree->captures_left--;
        }
    }
    KEEP_FRAME();
}

// A few places by turns, reached in two ways each: the stack pointer and the innermost
// frames are often the same while a frame further out is not.
static OMIT_FRAME_POINTER void innermost(struct tree* tree) {
    capture_and_compare();
    tree->captures_left--;
}

static OMIT_FRAME_POINTER void inner_way(struct tree* tree, bool first) {
    if (first) {
        innermost(tree);
    } else {
        innermost(tree);
        KEEP_FRAME();
    }
    KEEP_FRAME();
}

static OMIT_FRAME_POINTER void outer_way(struct tree* tree, uint32_t choice) {
    switch (choice % 3) {
    case 0:
        inner_way(tree, choice % 2 == 0);
        break;
    case 1:
        inner_way(tree, choice % 2 == 1);
        KEEP_FRAME();
        break;
    default:
        busy_frame(tree, tree->depth_max);
    }
    KEEP_FRAME();
}

static void visit_places_by_turns(struct tree* tree) {
    tree->captures_left = UINT32_MAX;
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t choice = i % 7 == 0 ? random_below(tree, 100) : i;
        if (choice % 5 == 0) {
            alloca_frame(tree, tree->depth_max);
        }
        outer_way(tree, choice);
    }
}

static void* grow_trees(void* argument) {
    struct tree tree = {.random = (uintptr_t)argument};
    for (unsigned i = 0; i < TREES; i++) {
        tree.captures_left = CAPTURES_PER_TREE;
        tree.depth_max = i % 10 == 0 ? 120 : 2 + random_below(&tree, 25);
        grow(&tree, 0);
    }
    visit_places_by_turns(&tree);
    ll_stack_thread_exit();
    return NULL;
}

int main(void) {
    CHECK(capture() == 0);
    CHECK(ll_stack_start(DEPTH));
    grow_trees((void*)1);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, grow_trees, (void*)(i + 2)) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(stacks_compared > 10000);
    return failures != 0;
}
