// Reachability and the sorting of lost blocks, on graphs of real blocks: random ones
// against a plain model, and the shapes that are easy to get wrong.
#include "lens/classify.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "format/records.h"

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
    // What a look said of each block.
    uint32_t kind[BLOCKS_MAX];
    uint16_t leader[BLOCKS_MAX];
    uint64_t led[BLOCKS_MAX];
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

static void note_group(const struct ll_group* group) {
    unsigned block = group->key.stack - 1;
    CHECK(block < graph.blocks && group->blocks == 1 && graph.kind[block] == 0);
    CHECK(group->address == (uintptr_t)graph.memory[block]);
    CHECK(group->bytes == graph.words[block] * sizeof(uintptr_t));
    graph.kind[block] = group->key.kind;
    graph.leader[block] = (uint16_t)(group->key.leader - 1);
    graph.led[block] = group->indirect_blocks;
}

// Marks, classifies and reads the result back into the graph.
static uint64_t graph_look(size_t stack_bytes) {
    static const struct ll_flood reach = {
        .next = {LL_MARK_REACHED, LL_MARK_REACHED, LL_MARK_POINTED, LL_MARK_CIRCLED},
        .pending = LL_MARK_POINTED,
        .settled = LL_MARK_REACHED,
    };
    struct ll_groups groups = {0};
    struct ll_marker* marker = ll_marker_start(stack_bytes);
    ll_heap_clear_marks();
    ll_marker_use(marker, &reach);
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (graph.root[i]) {
            ll_mark_word(marker, pointer_into(i));
        }
    }
    CHECK(ll_mark_finish(marker));
    struct ll_classified classified = ll_classify(marker, &groups);
    ll_marker_end(marker);
    CHECK(classified.unordered_rings == 0);
    memset(graph.kind, 0, sizeof graph.kind);
    const struct ll_group* group = ll_groups_sorted(&groups);
    for (size_t i = 0; i < groups.count; i++) {
        note_group(&group[i]);
    }
    ll_groups_release(&groups);
    return classified.lost_blocks;
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

// Nothing leads to the block but blocks of its own ring.
static bool model_leads(unsigned block) {
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (reaches[i][block] && !reaches[block][i]) {
            return false;
        }
    }
    return true;
}

static void check_lost(unsigned block) {
    CHECK(model_leads(block));
    uint64_t led = 0;
    for (unsigned i = 0; i < graph.blocks; i++) {
        bool same_ring = i != block && reaches[i][block] && reaches[block][i];
        CHECK(!same_ring || graph.kind[i] == LL_GROUP_indirect);
        led += graph.kind[i] == LL_GROUP_indirect && graph.leader[i] == block;
    }
    CHECK(graph.led[block] == led);
}

static void check_indirect(unsigned block) {
    unsigned leader = graph.leader[block];
    CHECK(leader < graph.blocks && graph.kind[leader] == LL_GROUP_lost);
    CHECK(leader < graph.blocks && reaches[leader][block]);
}

static void graph_check_against_model(void) {
    model_paths();
    for (unsigned i = 0; i < graph.blocks; i++) {
        CHECK((graph.kind[i] == LL_GROUP_reachable) == model_reached(i));
        if (graph.kind[i] == LL_GROUP_lost) {
            check_lost(i);
        } else if (graph.kind[i] == LL_GROUP_indirect) {
            check_indirect(i);
        } else {
            CHECK(graph.kind[i] == LL_GROUP_reachable);
        }
    }
}

static void random_graphs_agree_with_the_model(void) {
    static const size_t stacks[] = {0, 16, 100, 1 << 20};
    for (unsigned round = 0; round < 300; round++) {
        random_state = round;
        graph_make(1 + random_below(round % 10 == 0 ? BLOCKS_MAX : 40));
        // From forests to graphs that hang together.
        unsigned edges = random_below(graph.blocks * (1 + round % 4));
        for (unsigned i = 0; i < edges; i++) {
            edge(random_below(graph.blocks), random_below(graph.blocks));
        }
        for (unsigned i = 0; i < graph.blocks; i++) {
            graph.root[i] = random_below(10) == 0;
        }
        graph_allocate();
        for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++) {
            graph_look(stacks[i]);
            graph_check_against_model();
        }
        graph_release();
    }
}

static void ring(unsigned first, unsigned length) {
    for (unsigned i = 0; i < length; i++) {
        edge(first + i, first + (i + 1) % length);
    }
}

static void a_chain_of_rings_has_one_leader(void) {
    // Both directions, so that the leading ring lies once at the lowest and once at
    // the highest addresses.
    for (unsigned direction = 0; direction < 2; direction++) {
        graph_make(40);
        for (unsigned i = 0; i < 10; i++) {
            ring(4 * i, 4);
        }
        for (unsigned i = 0; i + 1 < 10; i++) {
            unsigned low = 4 * i + 1;
            unsigned high = 4 * (i + 1) + 2;
            edge(direction == 0 ? low : high, direction == 0 ? high : low);
        }
        graph_allocate();
        CHECK(graph_look(1 << 20) == 1);
        graph_check_against_model();
        graph_release();
    }
}

static void a_block_that_points_to_itself_is_lost(void) {
    graph_make(2);
    edge(0, 0);
    edge(1, 1);
    edge(1, 1);
    graph_allocate();
    CHECK(graph_look(1 << 20) == 2);
    CHECK(graph.kind[0] == LL_GROUP_lost && graph.kind[1] == LL_GROUP_lost);
    graph_release();
}

static void a_lost_list_has_its_head_as_leader(void) {
    graph_make(300);
    for (unsigned i = 0; i + 1 < 300; i++) {
        edge(299 - i, 298 - i);
    }
    graph_allocate();
    CHECK(graph_look(64) == 1);
    CHECK(graph.kind[299] == LL_GROUP_lost && graph.led[299] == 299);
    graph_release();
}

static void every_word_of_a_long_table_counts(void) {
    graph_make(BLOCKS_MAX);
    for (unsigned i = 1; i < BLOCKS_MAX; i++) {
        edge(0, i);
    }
    graph.root[0] = true;
    graph_allocate();
    CHECK(graph_look(1 << 20) == 0);
    graph.root[0] = false;
    CHECK(graph_look(1 << 20) == 1);
    CHECK(graph.led[0] == BLOCKS_MAX - 1);
    graph_release();
}

static void pointers_that_do_not_count(void) {
    graph_make(2);
    graph_allocate();
    uintptr_t* holder = ll_heap_allocate_zeroed(64, 1);
    ll_heap_release(graph.memory[0]);
    graph.memory[0] = holder;
    graph.words[0] = 8;
    // Unaligned, just before the block, and far behind its end.
    uintptr_t target = (uintptr_t)graph.memory[1];
    memcpy((char*)holder + 4, &target, sizeof target);
    holder[3] = target - 1;
    holder[4] = target + graph.words[1] * sizeof(uintptr_t) + 9;
    graph.root[0] = true;
    CHECK(graph_look(1 << 20) == 1);
    CHECK(graph.kind[1] == LL_GROUP_lost);
    graph_release();
}

int main(void) {
    CHECK(ll_heap_start());
    random_graphs_agree_with_the_model();
    a_chain_of_rings_has_one_leader();
    a_block_that_points_to_itself_is_lost();
    a_lost_list_has_its_head_as_leader();
    every_word_of_a_long_table_counts();
    pointers_that_do_not_count();
    return failures != 0;
}
