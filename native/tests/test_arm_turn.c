// The turns of a site: when its call stack is taken, which costs most of them.
#include "arm/places.h"
#include "arm/turn.h"
#include "arm/uses.h"
#include "check.h"

enum { SITES = 4, BURST = 10, CALLER = 0x1234, NODE = 5 };

static uint8_t text[64];
static uint8_t heap[64];
static uint8_t elsewhere[64];
static uint64_t frame[] = {CALLER};
static uint32_t stacks_taken;

static struct ll_range range = {.used_bytes = sizeof heap};
static struct ll_arm_header header = {.site_count = SITES};
static struct ll_arm_site sites[SITES];
static uint32_t row_of;
static struct ll_arm_module module = {
    .row_of = &row_of,
    .range = &range,
    .plan = {.header = &header, .sites = sites},
};

static uint32_t take_stack(uintptr_t pc, uintptr_t sp, uintptr_t rbp,
                           struct ll_arm_caller* caller) {
    (void)pc;
    (void)sp;
    (void)rbp;
    stacks_taken++;
    *caller = (struct ll_arm_caller){.at = 0};
    return NODE;
}

static void start(void) {
    CHECK(ll_places_start() && ll_uses_start());
    range.start = (uintptr_t)heap;
    module.bias = (uintptr_t)text;
    ll_arm.burst = BURST;
    ll_arm.stack_at = take_stack;
    for (uint32_t i = 0; i < SITES; i++) {
        sites[i] = (struct ll_arm_site){
            .address = 8 * i, .armed_length = 5, .length = 5, .site_count = 1};
    }
}

static struct ll_arm_record* touch(uint32_t site, const uint8_t* address) {
    ll_arm_turn(&module, site, (uintptr_t)frame, 0, (uintptr_t)address);
    return ll_place_record(&module, site);
}

static void test_a_touch_of_the_heap_takes_a_stack(void) {
    stacks_taken = 0;
    struct ll_arm_record* record = touch(0, heap);
    CHECK(stacks_taken == 1 && record->state == LL_ARM_BURST);
    CHECK(record->left == BURST - 1 && record->caller == CALLER);
    CHECK(ll_use_get(record->use)->node == NODE);
}

// The stub compares the number of the site that it pushes with the caller.
static void test_other_touches_wait_for_one_of_the_heap(void) {
    stacks_taken = 0;
    struct ll_arm_record* record = touch(1, elsewhere);
    CHECK(stacks_taken == 0 && record->use == 0 && record->caller != 1);
    CHECK(record->state == LL_ARM_BURST && record->left == BURST - 1);
    touch(1, heap + sizeof heap - 1);
    CHECK(stacks_taken == 1 && record->use != 0 && record->left == BURST - 1);
}

static void test_the_last_touch_of_a_burst_may_be_the_first_of_the_heap(void) {
    stacks_taken = 0;
    struct ll_arm_record* record = touch(2, elsewhere);
    record->left = 0;
    touch(2, heap);
    CHECK(record->state == LL_ARM_IDLE && stacks_taken == 1 && record->use != 0);
}

static void test_a_thread_that_comes_late_takes_a_stack_too(void) {
    struct ll_arm_record* record = touch(3, elsewhere);
    record->left = 0;
    touch(3, elsewhere);
    CHECK(record->state == LL_ARM_IDLE && record->use == 0);
    stacks_taken = 0;
    touch(3, heap);
    CHECK(stacks_taken == 1 && record->use != 0);
}

int main(void) {
    start();
    test_a_touch_of_the_heap_takes_a_stack();
    test_other_touches_wait_for_one_of_the_heap();
    test_the_last_touch_of_a_burst_may_be_the_first_of_the_heap();
    test_a_thread_that_comes_late_takes_a_stack_too();
    return failures != 0;
}
