// Of a leak that recurs, one block after the other is waited for and followed, also
// when memory holds one of them for ever.
#include "check.h"
#include "heap/heap.h"
#include "lens/ordinals.h"
#include "process/refine.h"
#include "stack/stack.h"

enum { PLAIN = 0x90, BREAKPOINT = 0xcc };

// More blocks than go by between two that are watched, and while one is waited for.
enum { BLOCKS_BETWEEN = 16, BLOCKS_WAITED = 5000 };

// Never called: the test only looks whether its first byte is a breakpoint.
extern const volatile uint8_t watched_code[];
__asm__(".text\n"
        ".globl watched_code\n"
        "watched_code: nop\n"
        "ret\n");

static const struct ll_watch_module module;
// Any block of the call stack, from the loss on that the same call stack brings about.
static const struct ll_watch_target target = {
    .ordinal = LL_WATCH_ANY,
    .frame_count = 1,
    .use_count = 1,
    .trigger = LL_WATCH_FROM_FREE,
    .trigger_frame_count = 1,
};
static const struct ll_watch_use use = {.activations = 1};
static const struct ll_watch_function function = {.first_point = 0, .point_count = 1};
static struct ll_watch_frame frame;
static struct ll_watch_point point = {.first_byte = PLAIN};
static struct ll_watch_list list = {
    .modules = &module,
    .targets = &target,
    .frames = &frame,
    .uses = &use,
    .functions = &function,
    .points = &point,
    .module_count = 1,
    .target_count = 1,
    .frame_count = 1,
    .use_count = 1,
    .function_count = 1,
    .point_count = 1,
};
static const uintptr_t biases[1] = {0};

static uint32_t site(void) {
    return ll_stack_child(0, (uintptr_t)watched_code, 0);
}

static uintptr_t allocate(void) {
    uintptr_t block = (uintptr_t)ll_heap_allocate_zeroed(64, site());
    CHECK(block != 0);
    ll_ordinals_born(block);
    return block;
}

// The first of the next blocks that is followed when memory loses it; 0 if none is.
static uintptr_t next_followed(void) {
    for (int i = 0; i < BLOCKS_BETWEEN; i++) {
        uintptr_t block = allocate();
        ll_ordinals_lost(block, site());
        if (watched_code[0] == BREAKPOINT) {
            return block;
        }
    }
    return 0;
}

static void test_another_block_is_followed_when_one_was_freed(void) {
    for (int i = 0; i < 3; i++) {
        uintptr_t block = next_followed();
        CHECK(block != 0);
        ll_ordinals_freed(block);
        CHECK(watched_code[0] == PLAIN);
    }
}

static void test_a_block_that_memory_keeps_is_not_waited_for_for_ever(void) {
    for (int i = 0; i < BLOCKS_BETWEEN; i++) {
        allocate();
    }
    CHECK(next_followed() == 0);
    uintptr_t block = 0;
    for (int i = 0; block == 0 && i < BLOCKS_WAITED; i++) {
        block = next_followed();
    }
    CHECK(block != 0);
}

int main(void) {
    frame.pc = (uintptr_t)watched_code;
    point.address = (uintptr_t)watched_code;
    CHECK(ll_heap_start() && ll_stack_start(64) && ll_ordinals_start());
    CHECK(ll_refine_start(&list, biases, LL_TRAPS_ORIGINAL_CODE));
    test_another_block_is_followed_when_one_was_freed();
    test_a_block_that_memory_keeps_is_not_waited_for_for_ever();
    ll_refine_give_up();
    return failures != 0;
}
