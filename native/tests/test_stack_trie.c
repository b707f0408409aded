// The trie against a plain model: the same (parent, key) is always the same node, for
// any number of threads at once.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "format/records.h"
#include "stack/stack.h"
#include "stack/trie.h"

enum { THREADS = 4, STACKS = 20000, STACK_DEPTH_MAX = 12, PLACES = 40 };

// A stack is a row of places, outermost first; `node` is what the trie said for it.
struct stack {
    unsigned depth;
    uintptr_t pcs[STACK_DEPTH_MAX];
    uint32_t node;
};

static struct stack stacks[THREADS][STACKS];

static uint64_t next_random(uint64_t* state) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

static uint32_t insert(const struct stack* stack) {
    uint32_t node = 0;
    for (unsigned i = 0; i < stack->depth; i++) {
        node = ll_trie_child(node, ll_node_key_of(stack->pcs[i], 0, 0));
        CHECK(node != 0);
    }
    return node;
}

static void make_stack(struct stack* stack, uint64_t* random) {
    stack->depth = 1 + (unsigned)(next_random(random) % STACK_DEPTH_MAX);
    for (unsigned i = 0; i < stack->depth; i++) {
        // Few places near the root and many inside, as in programs.
        uint64_t places = i < 4 ? 2 : PLACES;
        stack->pcs[i] = 0x100000 + 5 * (next_random(random) % places) + 4096 * i;
    }
}

// Every other thread makes the same stacks, so that insertions collide.
static void* insert_stacks(void* argument) {
    uintptr_t thread = (uintptr_t)argument;
    uint64_t random = thread / 2 + 1;
    for (unsigned i = 0; i < STACKS; i++) {
        make_stack(&stacks[thread][i], &random);
        stacks[thread][i].node = insert(&stacks[thread][i]);
    }
    return NULL;
}

static bool node_spells(uint32_t node, const struct stack* stack) {
    struct ll_node found;
    for (unsigned i = stack->depth; i-- > 0;) {
        if (!ll_node_get(node, &found) || found.pc != stack->pcs[i]) {
            return false;
        }
        node = found.parent;
    }
    return node == 0;
}

static int compare_stacks(const void* left, const void* right) {
    const struct stack* a = left;
    const struct stack* b = right;
    if (a->depth != b->depth) {
        return a->depth < b->depth ? -1 : 1;
    }
    return memcmp(a->pcs, b->pcs, a->depth * sizeof *a->pcs);
}

// Equal stacks lie side by side after sorting, and so must their nodes be equal; each
// spells its own stack, so different stacks have different nodes.
static void equal_stacks_have_one_node_in_all_threads(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, insert_stacks, (void*)i) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct stack* all = stacks[0];
    size_t count = (size_t)THREADS * STACKS;
    qsort(all, count, sizeof *all, compare_stacks);
    unsigned repeated = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(node_spells(all[i].node, &all[i]));
        if (i > 0 && compare_stacks(&all[i - 1], &all[i]) == 0) {
            CHECK(all[i - 1].node == all[i].node);
            repeated++;
        }
    }
    CHECK(repeated >= count / 2);
}

static void flags_and_reasons_tell_nodes_apart(void) {
    uint32_t plain = ll_trie_child(0, ll_node_key_of(0x5000, 0, 0));
    uint32_t exact = ll_trie_child(0, ll_node_key_of(0x5000, LL_NODE_exact_pc, 0));
    uint32_t stopped = ll_trie_child(
        0, ll_node_key_of(0x5000, LL_NODE_stopped, LL_STOP_no_unwind_table));
    CHECK(plain != exact && exact != stopped && plain != stopped);
    struct ll_node found;
    CHECK(ll_node_get(stopped, &found));
    CHECK(found.pc == 0x5000 && found.flags == LL_NODE_stopped &&
          found.reason == LL_STOP_no_unwind_table);
    CHECK(ll_stack_child(0, 0x5000, LL_NODE_exact_pc) == exact);
}

static void retired_code_gets_new_nodes(void) {
    ll_node_key key = ll_node_key_of(0x7000100, 0, 0);
    ll_node_key outside = ll_node_key_of(0x7001001, 0, 0);
    uint32_t old = ll_trie_child(0, key);
    uint32_t kept = ll_trie_child(0, outside);
    ll_trie_retire(0x7000000, 0x7001000, 77);
    uint32_t fresh = ll_trie_child(0, key);
    CHECK(fresh != old);
    CHECK(ll_trie_child(0, key) == fresh);
    CHECK(ll_trie_child(0, outside) == kept);
    ll_trie_retire(0x7000000, 0x7001000, 78);
    struct ll_node found;
    CHECK(ll_node_get(old, &found) && found.module == 77 && found.pc == 0x7000100);
    CHECK(ll_node_get(fresh, &found) && found.module == 78);
    CHECK(ll_trie_child(0, key) != fresh);
}

static void revived_code_gets_its_nodes_back(void) {
    ll_node_key key = ll_node_key_of(0x7100100, 0, 0);
    uint32_t first = ll_trie_child(0, key);
    ll_trie_retire(0x7100000, 0x7101000, 101);
    uint32_t second = ll_trie_child(0, key);
    ll_trie_retire(0x7100000, 0x7101000, 102);
    ll_trie_revive(101);
    CHECK(first != second && ll_trie_child(0, key) == first);
    ll_trie_retire(0x7100000, 0x7101000, 101);
    ll_trie_revive(102);
    CHECK(ll_trie_child(0, key) == second);
}

static void a_million_nodes_fit(void) {
    uint32_t before = ll_node_count();
    for (uintptr_t i = 1; i <= 1000000; i++) {
        CHECK(ll_trie_child((uint32_t)(i % 1000), ll_node_key_of(i * 16, 0, 0)) != 0);
    }
    CHECK(ll_node_count() >= before + 999000);
    struct ll_node found;
    CHECK(ll_node_get(ll_node_count(), &found) && found.pc == 16000000);
    CHECK(!ll_node_get(0, &found));
    CHECK(!ll_node_get(ll_node_count() + 1, &found));
}

int main(void) {
    CHECK(ll_stack_start(64));
    flags_and_reasons_tell_nodes_apart();
    equal_stacks_have_one_node_in_all_threads();
    retired_code_gets_new_nodes();
    revived_code_gets_its_nodes_back();
    a_million_nodes_fit();
    return failures != 0;
}
