// What a capture costs: nanoseconds by depth, when the program allocates in one place
// and when it comes back to two places by turns. Not a test: times depend on the
// machine.
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "stack/stack.h"

enum { REPEATS = 9, CAPTURES = 100000 };

static double best_ns;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) uint32_t capture(void) {
    return ll_stack_capture(LL_CALLER());
}

static __attribute__((noinline)) uint32_t first_place(unsigned number) {
    return capture() + number;
}

static __attribute__((noinline)) uint32_t second_place(unsigned number) {
    volatile char* space = alloca(64);
    space[0] = 1;
    return first_place(number) + 1;
}

static uint32_t by_turns(unsigned i) {
    return i % 2 == 0 ? first_place(i) : second_place(i);
}

static uint32_t in_one_place(unsigned i) {
    (void)i;
    return capture();
}

// The least of several measurements: noise only adds.
static void measure(uint32_t (*allocate)(unsigned)) {
    best_ns = 1e9;
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        double start = now_ns();
        volatile uint32_t node;
        for (unsigned i = 0; i < CAPTURES; i++) {
            node = allocate(i);
        }
        (void)node;
        double each = (now_ns() - start) / CAPTURES;
        best_ns = each < best_ns ? each : best_ns;
    }
}

static __attribute__((noinline)) unsigned at_depth(unsigned depth,
                                                   uint32_t (*allocate)(unsigned)) {
    unsigned below = 0;
    if (depth > 0) {
        below = at_depth(depth - 1, allocate);
    } else {
        measure(allocate);
    }
    __asm__ volatile("" ::: "memory");
    return below + 1;
}

// Frames that every capture here has: the place, measure, main and libc's two.
enum { FIXED_FRAMES = 6 };

int main(void) {
    static const unsigned depths[] = {6, 10, 30, 60, 200, 2000};
    if (!ll_stack_start(64)) {
        return 1;
    }
    printf("frames   one place   by turns   (ns per capture)\n");
    for (unsigned i = 0; i < sizeof depths / sizeof *depths; i++) {
        at_depth(depths[i] - FIXED_FRAMES, in_one_place);
        double steady = best_ns;
        at_depth(depths[i] - FIXED_FRAMES, by_turns);
        printf("%6u   %9.1f   %8.1f\n", depths[i], steady, best_ns);
    }
    return 0;
}
