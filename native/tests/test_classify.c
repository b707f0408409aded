// Reachability and the sorting of lost blocks, on graphs of real blocks: random ones
// against a plain model, and the shapes that are easy to get wrong.
#include "lens/classify.h"

#include <stdio.h>
#include <string.h>

#include "block_graph.h"
#include "check.h"
#include "format/records.h"

// What a look said of each block.
static struct {
    uint32_t kind;
    uint16_t leader;
    uint64_t led;
} said[BLOCKS_MAX];

static void note_group(const struct ll_group* group) {
    unsigned block = group->key.stack - 1;
    CHECK(block < graph.blocks && group->blocks == 1 && said[block].kind == 0);
    CHECK(group->address == (uintptr_t)graph.memory[block]);
    CHECK(group->bytes == graph.words[block] * sizeof(uintptr_t));
    said[block].kind = group->key.kind;
    said[block].leader = (uint16_t)(group->key.leader - 1);
    said[block].led = group->indirect_blocks;
}

// Marks, classifies and reads the result back into the graph.
static uint64_t graph_look(size_t stack_bytes) {
    static const struct ll_flood reach = {
        .next = {LL_MARK_REACHED, LL_MARK_REACHED, LL_MARK_POINTED, LL_MARK_CIRCLED},
        .pending = LL_MARK_POINTED,
        .settled = LL_MARK_REACHED,
    };
    struct ll_tally tally = {0};
    struct ll_marker* marker = ll_marker_start(stack_bytes);
    ll_heap_clear_marks();
    ll_marker_use(marker, &reach);
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (graph.root[i]) {
            ll_mark_word(marker, pointer_into(i));
        }
    }
    CHECK(ll_mark_finish(marker));
    struct ll_classified classified = ll_classify(marker, &tally);
    ll_marker_end(marker);
    CHECK(classified.unordered_rings == 0);
    memset(said, 0, sizeof said);
    const struct ll_group* group = ll_groups_sorted(&tally.groups);
    for (size_t i = 0; i < tally.groups.count; i++) {
        note_group(&group[i]);
    }
    ll_groups_release(&tally.groups);
    return classified.lost_blocks;
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
        CHECK(!same_ring || said[i].kind == LL_GROUP_indirect);
        led += said[i].kind == LL_GROUP_indirect && said[i].leader == block;
    }
    CHECK(said[block].led == led);
}

static void check_indirect(unsigned block) {
    unsigned leader = said[block].leader;
    CHECK(leader < graph.blocks && said[leader].kind == LL_GROUP_lost);
    CHECK(leader < graph.blocks && reaches[leader][block]);
}

static void graph_check_against_model(void) {
    model_paths();
    for (unsigned i = 0; i < graph.blocks; i++) {
        CHECK((said[i].kind == LL_GROUP_reachable) == model_reached(i));
        if (said[i].kind == LL_GROUP_lost) {
            check_lost(i);
        } else if (said[i].kind == LL_GROUP_indirect) {
            check_indirect(i);
        } else {
            CHECK(said[i].kind == LL_GROUP_reachable);
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
    CHECK(said[0].kind == LL_GROUP_lost && said[1].kind == LL_GROUP_lost);
    graph_release();
}

static void a_lost_list_has_its_head_as_leader(void) {
    graph_make(300);
    for (unsigned i = 0; i + 1 < 300; i++) {
        edge(299 - i, 298 - i);
    }
    graph_allocate();
    CHECK(graph_look(64) == 1);
    CHECK(said[299].kind == LL_GROUP_lost && said[299].led == 299);
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
    CHECK(said[0].led == BLOCKS_MAX - 1);
    graph_release();
}

// Page tables grow with every page that was read, even if it holds only zeros.
static size_t page_table_kib(void) {
    char line[256];
    size_t kib = 0;
    FILE* status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "VmPTE: %zu", &kib);
    }
    fclose(status);
    return kib;
}

// Both when it is reached and when it is lost, a huge sparse table is searched where
// it holds something, and stays sparse.
static void a_huge_sparse_table_stays_sparse(void) {
    enum { WORDS = 1 << 26 };
    graph_make(3);
    graph.words[0] = WORDS;
    graph.words[1] = graph.words[2] = 1;
    graph.memory[0] = ll_heap_allocate(WORDS * sizeof(uintptr_t), 1);
    graph.memory[1] = ll_heap_allocate_zeroed(8, 2);
    graph.memory[2] = ll_heap_allocate_zeroed(8, 3);
    graph.memory[0][WORDS / 2 + 77] = (uintptr_t)graph.memory[1];
    graph.memory[0][WORDS - 1] = (uintptr_t)graph.memory[2];
    size_t before = page_table_kib();
    graph.root[0] = true;
    CHECK(graph_look(1 << 20) == 0);
    graph.root[0] = false;
    CHECK(graph_look(1 << 20) == 1);
    CHECK(before > 0 && page_table_kib() < before + 300);
    CHECK(said[1].kind == LL_GROUP_indirect && said[2].kind == LL_GROUP_indirect);
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
    CHECK(said[1].kind == LL_GROUP_lost);
    graph_release();
}

int main(void) {
    CHECK(ll_heap_start());
    random_graphs_agree_with_the_model();
    a_chain_of_rings_has_one_leader();
    a_block_that_points_to_itself_is_lost();
    a_lost_list_has_its_head_as_leader();
    every_word_of_a_long_table_counts();
    a_huge_sparse_table_stays_sparse();
    pointers_that_do_not_count();
    return failures != 0;
}
