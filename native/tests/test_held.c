// What only stack slots hold: random graphs and slots against a plain model.
#include "lens/held.h"

#include "block_graph.h"
#include "check.h"
#include "lens/classify.h"

enum { FRAMES = 4, SLOTS = 12 };

static uintptr_t stack[FRAMES][SLOTS];
static struct ll_stack_frame frame_list[FRAMES];
static struct ll_stopped_frames frames = {frame_list, FRAMES, FRAMES};

// The block that each slot points into, plus 1; 0 if none.
static unsigned points[FRAMES][SLOTS];

static void make_stack(void) {
    memset(points, 0, sizeof points);
    for (unsigned f = 0; f < FRAMES; f++) {
        frame_list[f] = (struct ll_stack_frame){.start = (uintptr_t)stack[f],
                                                .cfa = (uintptr_t)(stack[f] + SLOTS)};
        for (unsigned s = 0; s < SLOTS; s++) {
            bool pointer = random_below(6) == 0;
            points[f][s] = pointer ? 1 + random_below(graph.blocks) : 0;
            stack[f][s] = pointer ? pointer_into(points[f][s] - 1) : random_below(1000);
        }
    }
}

static bool model_slot_points_to(unsigned block) {
    for (unsigned i = 0; i < FRAMES * SLOTS; i++) {
        if (points[i / SLOTS][i % SLOTS] == block + 1) {
            return true;
        }
    }
    return false;
}

// The one block that slots point into and that leads to `block`, plus 1; 0 if there is
// none or more than one. Blocks reached otherwise do not count.
static unsigned model_holder(unsigned block) {
    unsigned holder = 0;
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (model_slot_points_to(i) && !model_reached(i) && reaches[i][block]) {
            if (holder != 0) {
                return 0;
            }
            holder = i + 1;
        }
    }
    return holder;
}

static bool model_held(unsigned block) {
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (model_slot_points_to(i) && reaches[i][block]) {
            return true;
        }
    }
    return false;
}

static const struct ll_held_slot* slot_of_set(const struct ll_held* held,
                                              uint32_t set) {
    size_t i = 0;
    while (i < held->count && held->slots[i].set != set) {
        i++;
    }
    CHECK(i < held->count);
    return &held->slots[i];
}

static void check_groups(struct ll_held* held) {
    unsigned holders[BLOCKS_MAX] = {0};
    const struct ll_group* group = ll_groups_sorted(&held->groups);
    for (size_t i = 0; i < held->groups.count; i++, group++) {
        unsigned block = group->key.stack - 1;
        uintptr_t holder = slot_of_set(held, group->key.kind)->block;
        CHECK(group->blocks == 1 && holders[block] == 0);
        CHECK(group->key.leader == ((uintptr_t)graph.memory[block] == holder));
        for (unsigned b = 0; b < graph.blocks; b++) {
            if ((uintptr_t)graph.memory[b] == holder) {
                holders[block] = b + 1;
            }
        }
    }
    for (unsigned i = 0; i < graph.blocks; i++) {
        CHECK(holders[i] == (model_reached(i) ? 0 : model_holder(i)));
    }
}

// Every slot that points to a block reached in no other way is in the set of that
// block.
static void check_slots(const struct ll_held* held) {
    size_t expected = 0;
    for (unsigned i = 0; i < FRAMES * SLOTS; i++) {
        unsigned block = points[i / SLOTS][i % SLOTS];
        expected += block != 0 && !model_reached(block - 1);
    }
    CHECK(held->count == expected);
    for (size_t i = 0; i < held->count; i++) {
        const struct ll_held_slot* slot = &held->slots[i];
        size_t index = (slot->address - frame_list[slot->frame].start) / 8;
        CHECK((uintptr_t)graph.memory[points[slot->frame][index] - 1] == slot->block);
    }
}

static struct ll_marker* mark_from_roots(size_t stack_bytes) {
    static const struct ll_flood reach = {
        .next = {LL_MARK_REACHED, LL_MARK_REACHED, LL_MARK_POINTED, LL_MARK_CIRCLED},
        .pending = LL_MARK_POINTED,
        .settled = LL_MARK_REACHED,
    };
    struct ll_marker* marker = ll_marker_start(stack_bytes);
    ll_heap_clear_marks();
    ll_marker_use(marker, &reach);
    for (unsigned i = 0; i < graph.blocks; i++) {
        if (graph.root[i]) {
            ll_mark_word(marker, (uintptr_t)graph.memory[i]);
        }
    }
    CHECK(ll_mark_finish(marker));
    return marker;
}

static void check_marks(void) {
    for (unsigned i = 0; i < graph.blocks; i++) {
        struct ll_block block;
        CHECK(ll_block_at((uintptr_t)graph.memory[i], &block));
        bool reached = model_reached(i) || model_held(i);
        CHECK(ll_block_mark(block) == (reached ? LL_MARK_REACHED : LL_MARK_UNREACHED));
    }
}

static void random_stacks_agree_with_the_model(void) {
    for (unsigned round = 0; round < 300; round++) {
        random_state = round;
        graph_make(1 + random_below(60));
        unsigned edges = random_below(graph.blocks * (1 + round % 3));
        for (unsigned i = 0; i < edges; i++) {
            edge(random_below(graph.blocks), random_below(graph.blocks));
        }
        for (unsigned i = 0; i < graph.blocks; i++) {
            graph.root[i] = random_below(12) == 0;
        }
        graph_allocate();
        make_stack();
        model_paths();
        struct ll_marker* marker = mark_from_roots(1 << 20);
        struct ll_held held = {0};
        CHECK(ll_held_find(&held, marker, &frames));
        check_groups(&held);
        check_slots(&held);
        check_marks();
        ll_held_release(&held);
        ll_marker_end(marker);
        graph_release();
    }
}

static void a_full_stack_is_reported_and_not_guessed_over(void) {
    random_state = 7;
    graph_make(100);
    for (unsigned i = 1; i < 100; i++) {
        edge(0, i);
    }
    graph_allocate();
    make_stack();
    stack[0][0] = (uintptr_t)graph.memory[0];
    struct ll_marker* marker = mark_from_roots(64);
    struct ll_held held = {0};
    CHECK(!ll_held_find(&held, marker, &frames));
    ll_held_release(&held);
    ll_marker_end(marker);
    graph_release();
}

// A program's own data structure that a local variable holds: reached, but not counted
// as held, and without as much memory.
static void a_huge_structure_is_plainly_reached(void) {
    enum { LIST = 100000 };
    memset(stack, 0, sizeof stack);
    void** head = NULL;
    for (unsigned i = 0; i < LIST; i++) {
        void** block = ll_heap_allocate_zeroed(32, 1);
        block[i % 4] = head;
        head = block;
    }
    stack[1][3] = (uintptr_t)head;
    graph_make(0);
    struct ll_marker* marker = mark_from_roots(1 << 20);
    struct ll_held held = {0};
    CHECK(ll_held_find(&held, marker, &frames));
    CHECK(held.groups.count == 0);
    ll_held_release(&held);
    struct ll_tally tally = {0};
    CHECK(ll_classify(marker, &tally).lost_blocks == 0);
    CHECK(tally.groups.count == 1 && ll_groups_sorted(&tally.groups)->blocks == LIST);
    ll_groups_release(&tally.groups);
    ll_marker_end(marker);
}

int main(void) {
    CHECK(ll_heap_start());
    random_stacks_agree_with_the_model();
    a_full_stack_is_reported_and_not_guessed_over();
    a_huge_structure_is_plainly_reached();
    return failures != 0;
}
