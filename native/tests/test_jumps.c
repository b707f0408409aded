// Jumps over frames: which of the blocks that the frames refer to are stamped, and
// which keep what a variable was seen to lose.
#include "lens/jumps.h"

#include <stdint.h>

#include "check.h"
#include "heap/inspect.h"
#include "lens/contexts.h"
#include "lens/stamps.h"
#include "patch/loss_page.h"
#include "patch/sites.h"
#include "stack/stack.h"
#include "stack/trie.h"

enum {
    SIZE = 64,
    OVERWRITTEN = 1,
    OUT_OF_SCOPE = 2,
    CONTEXT = 77,
    CALLEE_CONTEXT = 78
};

// As format/sites.md has it.
static _Alignas(32) struct {
    int32_t names[3];
    uint32_t line;
    int32_t births;
    uint16_t column;
    uint8_t cause;
    uint8_t reserved[9];
} table[4] = {
    {.line = 10, .births = 4, .cause = OVERWRITTEN}, // a variable gets another value
    {.line = 0},                                     // numbers of its births reach here
    {.line = 11, .cause = OUT_OF_SCOPE},
    {.line = 12, .cause = OVERWRITTEN}, // a slot in memory does
};
static uint32_t heap_tag;

// The call stack that jumps: main called `skipped`, which called the function that
// jumps.
static uint32_t jumping;

static uint32_t child(uint32_t parent, uintptr_t pc) {
    return ll_trie_child(parent, ll_node_key_of(pc, 0, 0));
}

static uintptr_t allocate(void) {
    void* block = ll_heap_allocate(SIZE, child(0, 0x1000));
    CHECK(block != NULL);
    ll_stamp_birth((uintptr_t)block);
    return (uintptr_t)block;
}

static uintptr_t lost_at(const void* site, uint32_t context) {
    uintptr_t block = allocate();
    *ll_stamp_of(block) = ll_stamp_pack(ll_hooks_tick(), (uintptr_t)site, context);
    return block;
}

static void jump_over(const uintptr_t* words, size_t count) {
    ll_jump_over((uintptr_t)words, (uintptr_t)(words + count), jumping);
}

static bool is_jumped_over(uintptr_t block) {
    struct ll_stamp stamp = ll_stamp_latest(block, SIZE);
    return stamp.cause == LL_STAMP_jumped_over && stamp.place == jumping;
}

static void what_frames_refer_to_is_lost_at_the_jump(void) {
    uintptr_t words[] = {allocate(), 5, allocate() + 20, allocate()};
    jump_over(words, 3);
    CHECK(is_jumped_over(words[0]));
    CHECK(is_jumped_over(words[2] - 20));
    CHECK(!is_jumped_over(words[3]));
}

static void what_a_variable_of_a_frame_lost_stays_lost_there(void) {
    uintptr_t words[] = {
        lost_at(&table[0], CONTEXT),
        lost_at((char*)&table[0] + 40, CONTEXT), // the 40th birth
        lost_at(&table[2], CONTEXT),
    };
    jump_over(words, 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(ll_stamp_latest(words[i], SIZE).cause == LL_STAMP_store);
    }
}

static void what_memory_or_another_function_lost_was_held_longer(void) {
    uintptr_t words[] = {
        lost_at(&table[3], CONTEXT),
        lost_at(&table[0], CALLEE_CONTEXT),
        lost_at(&table[0], CONTEXT + 1000), // nobody knows its stack
    };
    jump_over(words, 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(is_jumped_over(words[i]));
    }
}

static void jumps_to_other_stacks_leave_nothing(void) {
    static uintptr_t elsewhere[4];
    uintptr_t here[] = {allocate()};
    elsewhere[0] = allocate();
    ll_jump_over((uintptr_t)elsewhere, (uintptr_t)here, jumping);
    CHECK(!is_jumped_over(elsewhere[0]));
    ll_jump_over((uintptr_t)here, (uintptr_t)here - 64, jumping);
    CHECK(!is_jumped_over(here[0]));
}

static void on_new_context(uint32_t context) {
    (void)context;
}

#ifdef __SANITIZE_THREAD__
enum { SHADOW_IS_TAKEN = 1 }; // ThreadSanitizer keeps its own tables there
#else
enum { SHADOW_IS_TAKEN = 0 };
#endif

int main(void) {
    if (SHADOW_IS_TAKEN) {
        return 0;
    }
    ll_heap_align_blocks(LL_GRANULE_BYTES);
    CHECK(ll_heap_start() && ll_stack_start(64) && ll_stamps_start());
    CHECK(ll_contexts_start(ll_loss_page(), on_new_context));
    struct ll_sites sites = {(uintptr_t)table, (uintptr_t)(table + 4), &heap_tag, NULL};
    ll_sites_register(&sites);
    uint32_t in_main = child(0, 0x2000);
    jumping = child(child(in_main, 0x3000), 0x4000);
    // Stacks of contexts end in the function that stamps and in one that it calls.
    ll_context_learn(CONTEXT, child(child(in_main, 0x3010), 0x5000));
    uint32_t in_callee = child(child(in_main, 0x3020), 0x6000);
    ll_context_learn(CALLEE_CONTEXT, child(in_callee, 0x5000));

    what_frames_refer_to_is_lost_at_the_jump();
    what_a_variable_of_a_frame_lost_stays_lost_there();
    what_memory_or_another_function_lost_was_held_longer();
    jumps_to_other_stacks_leave_nothing();
    return failures != 0;
}
