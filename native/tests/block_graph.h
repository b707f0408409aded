// Graphs of real blocks for tests of the lens, with a plain model of what leads where.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "heap/heap.h"

enum { BLOCKS_MAX = 400, EDGES_MAX = 2000 };

// A graph of blocks; block i was allocated by site i + 1, so groups name blocks.
static struct graph {
    unsigned blocks;
    unsigned edges;
    uint16_t from[EDGES_MAX];
    uint16_t to[EDGES_MAX];
    bool root[BLOCKS_MAX];
    uintptr_t* memory[BLOCKS_MAX];
    size_t words[BLOCKS_MAX];
} graph;

static uint64_t random_state;

static unsigned random_below(unsigned bound) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(random_state >> 33) % bound;
}

static void graph_make(unsigned blocks) {
    memset(&graph, 0, sizeof graph);
    graph.blocks = blocks;
}

static void edge(unsigned from, unsigned to) {
    graph.from[graph.edges] = (uint16_t)from;
    graph.to[graph.edges++] = (uint16_t)to;
}

static unsigned degree(unsigned block) {
    unsigned count = 0;
    for (unsigned i = 0; i < graph.edges; i++) {
        count += graph.from[i] == block;
    }
    return count;
}

// Somewhere into the block, its very end included.
static uintptr_t pointer_into(unsigned block) {
    size_t size = graph.words[block] * sizeof(uintptr_t);
    return (uintptr_t)graph.memory[block] + random_below((unsigned)size + 1);
}

static void graph_allocate(void) {
    for (unsigned i = 0; i < graph.blocks; i++) {
        size_t extra = random_below(50) == 0 ? 3000 : random_below(6);
        graph.words[i] = degree(i) + extra;
        size_t size = graph.words[i] * sizeof(uintptr_t);
        graph.memory[i] = ll_heap_allocate_zeroed(size, i + 1);
    }
    for (unsigned i = 0; i < graph.edges; i++) {
        uintptr_t* memory = graph.memory[graph.from[i]];
        unsigned at = random_below((unsigned)graph.words[graph.from[i]]);
        while (memory[at] != 0) {
            at = (at + 1) % (unsigned)graph.words[graph.from[i]];
        }
        memory[at] = pointer_into(graph.to[i]);
    }
}

static void graph_release(void) {
    for (unsigned i = 0; i < graph.blocks; i++) {
        CHECK(ll_heap_release(graph.memory[i]));
    }
}

// reaches[i][j]: a path of edges leads from i to j; i itself included.
static bool reaches[BLOCKS_MAX][BLOCKS_MAX];

static void model_paths(void) {
    memset(reaches, 0, sizeof reaches);
    for (unsigned i = 0; i < graph.blocks; i++) {
        uint16_t pile[BLOCKS_MAX];
        unsigned depth = 0;
        pile[depth++] = (uint16_t)i;
        reaches[i][i] = true;
        while (depth > 0) {
            unsigned at = pile[--depth];
            for (unsigned e = 0; e < graph.edges; e++) {
                if (graph.from[e] == at && !reaches[i][graph.to[e]]) {
                    reaches[i][graph.to[e]] = true;
                    pile[depth++] = graph.to[e];
                }
            }
        }
    }
}

static bool model_reached(unsigned block) {
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (graph.root[i] && reaches[i][block]) {
            return true;
        }
    }
    return false;
}
