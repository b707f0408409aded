// Sweeps of the trie against a plain model: what is held keeps its meaning, what is not
// held makes room, and no sweep happens where a hook might be about to use a node.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "format/records.h"
#include "stack/stack.h"
#include "stack/sweep.h"
#include "stack/trie.h"

enum { HELD = 3000, DEPTH_MAX = 10, ROUNDS = 40, MANY = 1 << 17, PLUGIN = 0x7000000 };

// A node that is held, and the frames it stands for, outermost first.
struct held {
    uint32_t node; // 0: nothing is held here
    unsigned depth;
    uintptr_t pcs[DEPTH_MAX];
};

static struct held held[HELD];
static uint32_t held_capture;

static uint64_t visit_held(ll_node_renaming* rename) {
    for (unsigned i = 0; i < HELD; i++) {
        held[i].node = held[i].node == 0 ? 0 : rename(held[i].node);
    }
    held_capture = held_capture == 0 ? 0 : rename(held_capture);
    return HELD;
}

static uint32_t insert(const struct held* stack) {
    uint32_t node = 0;
    for (unsigned i = 0; i < stack->depth; i++) {
        node = ll_trie_child(node, ll_node_key_of(stack->pcs[i], 0, 0));
    }
    return node;
}

static bool is_spelled(const struct held* stack) {
    uint32_t node = stack->node;
    struct ll_node found;
    for (unsigned i = stack->depth; i-- > 0; node = found.parent) {
        if (!ll_node_get(node, &found) || found.pc != stack->pcs[i]) {
            return false;
        }
    }
    return node == 0;
}

static void hold_another_stack(struct held* stack) {
    stack->depth = 1 + (unsigned)rand() % DEPTH_MAX;
    for (unsigned i = 0; i < stack->depth; i++) {
        stack->pcs[i] = 0x100000 + 4096 * i + 5 * ((unsigned)rand() % (2 + 3 * i));
    }
    stack->node = insert(stack);
}

static void what_is_held_keeps_its_meaning(void) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < HELD; i++) {
            if (rand() % 3 == 0) {
                hold_another_stack(&held[i]);
            } else if (rand() % 3 == 0) {
                held[i].node = 0;
            }
        }
        ll_sweep();
        for (unsigned i = 0; i < HELD; i++) {
            CHECK(held[i].node == 0 || is_spelled(&held[i]));
            CHECK(held[i].node == 0 || insert(&held[i]) == held[i].node);
        }
    }
}

static void what_is_not_held_makes_room(void) {
    memset(held, 0, sizeof held);
    ll_sweep();
    CHECK(ll_node_count() == 0);
    hold_another_stack(&held[0]);
    CHECK(ll_node_count() == held[0].depth && is_spelled(&held[0]));
}

static void unloaded_code_keeps_its_name(void) {
    held[0] = (struct held){.depth = 1, .pcs = {PLUGIN + 16}};
    held[1] = held[0];
    held[0].node = insert(&held[0]);
    ll_trie_retire(PLUGIN, PLUGIN + 4096, 5);
    held[1].node = insert(&held[1]);
    CHECK(held[0].node != held[1].node);
    ll_sweep();
    struct ll_node found;
    CHECK(ll_node_get(held[0].node, &found) && found.module == 5);
    CHECK(is_spelled(&held[0]) && is_spelled(&held[1]));
    CHECK(insert(&held[1]) == held[1].node);
    ll_trie_retire(PLUGIN, PLUGIN + 4096, 6);
    ll_trie_revive(5);
    CHECK(insert(&held[1]) == held[0].node);
    held[0].node = held[1].node = 0;
}

static void fill_with_nodes_that_nobody_holds(void) {
    for (uintptr_t i = 0; i < MANY; i++) {
        CHECK(ll_trie_child(0, ll_node_key_of(0x200000 + 16 * i, 0, 0)) != 0);
    }
}

static __attribute__((noinline)) uint32_t capture(void) {
    uint32_t node = ll_stack_capture(LL_CALLER());
    __asm__ volatile("" : : : "memory");
    return node;
}

// Two places in one frame, so that the second capture has something to walk.
static __attribute__((noinline)) uint32_t capture_by_turns(unsigned count) {
    uint32_t node = 0;
    for (unsigned i = 0; i < count; i++) {
        node = capture();
        __asm__ volatile("" : : : "memory");
        node = capture();
    }
    return node;
}

static uintptr_t caller_pc(uint32_t node) {
    struct ll_node found = {0};
    CHECK(ll_node_get(node, &found) && ll_node_get(found.parent, &found));
    return found.pc;
}

static void captures_sweep_when_the_trie_is_large(void) {
    held_capture = capture_by_turns(1);
    uintptr_t pc = caller_pc(held_capture);
    for (unsigned i = 0; i < 4; i++) {
        fill_with_nodes_that_nobody_holds();
        uint32_t node = capture_by_turns(2);
        CHECK(ll_node_count() < MANY / 4);
        struct ll_node before;
        struct ll_node now;
        CHECK(ll_node_get(held_capture, &before) && ll_node_get(node, &now));
        CHECK(before.pc == now.pc && caller_pc(held_capture) == pc);
    }
}

static void on_signal(int signal) {
    (void)signal;
    capture_by_turns(3);
}

static void a_signal_handler_does_not_sweep(void) {
    CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
    fill_with_nodes_that_nobody_holds();
    raise(SIGUSR1);
    CHECK(ll_node_count() >= MANY);
    capture_by_turns(2);
    CHECK(ll_node_count() < MANY / 4);
}

static void nodes_that_are_written_down_stay(void) {
    ll_stack_keep_nodes();
    fill_with_nodes_that_nobody_holds();
    capture_by_turns(2);
    CHECK(ll_node_count() >= MANY);
}

int main(void) {
    CHECK(ll_stack_start(64));
    ll_stack_let_sweep(visit_held);
    what_is_held_keeps_its_meaning();
    what_is_not_held_makes_room();
    unloaded_code_keeps_its_name();
    captures_sweep_when_the_trie_is_large();
    a_signal_handler_does_not_sweep();
    nodes_that_are_written_down_stay();
    return failures != 0;
}
