// More call stacks than are kept, for lens `pages`: those of blocks that were freed
// long ago are given up, and the stacks of blocks that live have to stay what they are.
// `list_stale` is called before, between and after; its blocks are never used again.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "corpus.h"

enum { NODES = 500, TIMES = 3 };

struct node {
    struct node* next;
    char text[40];
};

static struct node* stale;
static long calls;

CASE struct node* list_stale(struct node* next) {
    struct node* node = malloc(sizeof *node);
    node->next = next;
    return node;
}

__attribute__((noinline)) static void level0(void) {
    void* block = malloc(32);
    KEEP(block);
    free(block);
    calls++;
}

// Every way down is a stack of its own; no function calls itself, since stacks of
// recursions are folded.
#define LEVEL(above, below)                                                            \
    __attribute__((noinline)) static void above(void) {                                \
        below();                                                                       \
        calls++;                                                                       \
        below();                                                                       \
        calls++;                                                                       \
    }
LEVEL(level1, level0)
LEVEL(level2, level1)
LEVEL(level3, level2)
LEVEL(level4, level3)
LEVEL(level5, level4)
LEVEL(level6, level5)
LEVEL(level7, level6)
LEVEL(level8, level7)
LEVEL(level9, level8)
LEVEL(level10, level9)
LEVEL(level11, level10)
LEVEL(level12, level11)
LEVEL(level13, level12)
LEVEL(level14, level13)
LEVEL(level15, level14)
LEVEL(level16, level15)

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void) {
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < NODES; i++) {
            stale = list_stale(stale);
        }
        level16();
    }
    KEEP(&stale);
    double end_s = cpu_s() + 0.4;
    while (cpu_s() < end_s) {
    }
    printf("%ld calls\n", calls);
    return 0;
}
