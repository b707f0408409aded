// Blocks are followed from their birth, or from a loss in memory on, until they are
// freed, in a child for itself: the code concerned holds breakpoints as long.
#include "process/refine.h"

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "heap/heap.h"
#include "lens/ordinals.h"
#include "stack/stack.h"

enum { PLAIN = 0x90, BREAKPOINT = 0xcc };

// Never called: the test only looks whether its first byte is a breakpoint.
extern const volatile uint8_t watched_code[];
__asm__(".text\n"
        ".globl watched_code\n"
        "watched_code: nop\n"
        "ret\n");

static const struct ll_watch_module module;
// The first, the third and the fifth block that the call stack allocates; the fifth
// from the loss on that the same call stack brings about.
static const struct ll_watch_target targets[3] = {
    {.ordinal = 1, .frame_count = 1, .first_use = 0, .use_count = 1},
    {.ordinal = 3, .frame_count = 1, .first_use = 1, .use_count = 1},
    {.ordinal = 5,
     .frame_count = 1,
     .first_use = 2,
     .use_count = 1,
     .trigger = LL_WATCH_FROM_FREE,
     .trigger_frame_count = 1},
};
static const struct ll_watch_use uses[3] = {
    {.activations = 1}, {.activations = 1}, {.activations = 1}};
static const struct ll_watch_function function = {.first_point = 0, .point_count = 1};
static struct ll_watch_frame frame;
static struct ll_watch_point point = {.first_byte = PLAIN};
static struct ll_watch_list list = {
    .modules = &module,
    .targets = targets,
    .frames = &frame,
    .uses = uses,
    .functions = &function,
    .points = &point,
    .module_count = 1,
    .target_count = 3,
    .frame_count = 1,
    .use_count = 3,
    .function_count = 1,
    .point_count = 1,
};
static const uintptr_t biases[1] = {0};

static uintptr_t allocate(void) {
    uint32_t site = ll_stack_child(0, (uintptr_t)watched_code, 0);
    uintptr_t block = (uintptr_t)ll_heap_allocate_zeroed(64, site);
    CHECK(block != 0);
    ll_ordinals_born(block);
    return block;
}

static void test_a_block_is_followed_until_it_is_freed(void) {
    CHECK(ll_refine_is_on() && watched_code[0] == PLAIN);
    uintptr_t first = allocate();
    CHECK(watched_code[0] == BREAKPOINT);
    uintptr_t second = allocate();
    ll_ordinals_freed(second);
    CHECK(watched_code[0] == BREAKPOINT);
    ll_ordinals_freed(first);
    CHECK(watched_code[0] == PLAIN);
}

static void check_in_child(void) {
    ll_refine_fork_child();
    CHECK(ll_refine_is_on() && watched_code[0] == PLAIN);
    allocate();
    CHECK(watched_code[0] == PLAIN);
}

// The third block is the parent's: the child has the fourth.
static void test_a_child_leaves_what_its_parent_follows(void) {
    uintptr_t third = allocate();
    CHECK(watched_code[0] == BREAKPOINT);
    pid_t child = fork();
    if (child == 0) {
        check_in_child();
        _exit(failures != 0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(watched_code[0] == BREAKPOINT);
    ll_ordinals_freed(third);
    CHECK(watched_code[0] == PLAIN);
}

static void check_own_block_in_child(void) {
    ll_refine_fork_child();
    ll_ordinals_freed(allocate());
    allocate();
    CHECK(watched_code[0] == PLAIN);
    uintptr_t third = allocate();
    CHECK(watched_code[0] == BREAKPOINT);
    ll_ordinals_freed(third);
    CHECK(watched_code[0] == PLAIN);
}

// Before the parent has allocated any.
static void test_a_child_follows_blocks_of_its_own(void) {
    pid_t child = fork();
    if (child == 0) {
        check_own_block_in_child();
        _exit(failures != 0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void test_a_block_is_followed_from_its_loss_in_memory_on(void) {
    uint32_t site = ll_stack_child(0, (uintptr_t)watched_code, 0);
    ll_ordinals_freed(allocate());
    uintptr_t fifth = allocate();
    CHECK(watched_code[0] == PLAIN);
    ll_ordinals_lost(fifth + 8, site + 1);
    ll_ordinals_lost(fifth - 8, site);
    CHECK(watched_code[0] == PLAIN);
    ll_ordinals_lost(fifth + 8, site);
    CHECK(watched_code[0] == BREAKPOINT);
    ll_ordinals_freed(fifth);
    CHECK(watched_code[0] == PLAIN);
    ll_ordinals_lost(fifth + 8, site);
    CHECK(watched_code[0] == PLAIN);
}

static void test_blocks_keep_their_numbers(void) {
    uintptr_t sixth = allocate();
    uintptr_t seventh = allocate();
    CHECK(ll_ordinal_of(sixth) == 6 && ll_ordinal_of(seventh) == 7);
}

static void test_nothing_is_followed_after_it_was_given_up(void) {
    ll_refine_give_up();
    CHECK(!ll_refine_is_on() && watched_code[0] == PLAIN);
    allocate();
    CHECK(watched_code[0] == PLAIN);
}

int main(void) {
    frame.pc = (uintptr_t)watched_code;
    point.address = (uintptr_t)watched_code;
    CHECK(ll_heap_start() && ll_stack_start(64) && ll_ordinals_start());
    CHECK(ll_refine_start(&list, biases, LL_TRAPS_ORIGINAL_CODE));
    test_a_child_follows_blocks_of_its_own();
    test_a_block_is_followed_until_it_is_freed();
    test_a_child_leaves_what_its_parent_follows();
    test_a_block_is_followed_from_its_loss_in_memory_on();
    test_blocks_keep_their_numbers();
    test_nothing_is_followed_after_it_was_given_up();
    return failures != 0;
}
