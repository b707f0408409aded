// A store is told to overwrite a reference by the word that is there before it.
#include "process/trigger.h"

#include <stddef.h>

#include "check.h"

enum { BLOCK = 0x220000001000, END = BLOCK + 64, NONE = LL_WATCH_NO_REGISTER };

static uint64_t words[8];
static struct ll_registers registers;

static bool overwrites(struct ll_watch_store store, uintptr_t bias) {
    return ll_trigger_overwrites(&store, bias, &registers, BLOCK, END);
}

static void test_the_slot_is_found_by_registers(void) {
    words[5] = BLOCK + 8;
    registers.general[LL_RBX] = (uintptr_t)words;
    registers.general[LL_RCX] = 3;
    struct ll_watch_store store = {
        .base = LL_RBX, .index = LL_RCX, .scale = 8, .size_bytes = 8};
    CHECK(!overwrites(store, 0));
    store.displacement = 16;
    CHECK(overwrites(store, 0));
    store.index = NONE;
    store.displacement = 40;
    CHECK(overwrites(store, 0x1000));
    store.displacement = 32;
    CHECK(!overwrites(store, 0));
    store.size_bytes = 16;
    CHECK(overwrites(store, 0));
}

static void test_the_slot_is_found_in_its_module(void) {
    uintptr_t bias = (uintptr_t)words - 0x2000;
    struct ll_watch_store store = {
        .base = NONE, .index = NONE, .size_bytes = 8, .displacement = 0x2000 + 40};
    CHECK(overwrites(store, bias));
    store.displacement = 0x2000;
    CHECK(!overwrites(store, bias));
}

static void test_the_end_of_a_block_counts_and_no_more(void) {
    registers.general[LL_RBX] = (uintptr_t)&words[7];
    struct ll_watch_store store = {.base = LL_RBX, .index = NONE, .size_bytes = 8};
    words[7] = END;
    CHECK(overwrites(store, 0));
    words[7] = END + 1;
    CHECK(!overwrites(store, 0));
    words[7] = BLOCK - 1;
    CHECK(!overwrites(store, 0));
}

static void test_a_slot_that_cannot_be_read_is_none(void) {
    registers.general[LL_RBX] = 8;
    struct ll_watch_store store = {.base = LL_RBX, .index = NONE, .size_bytes = 8};
    CHECK(!overwrites(store, 0));
}

int main(void) {
    test_the_slot_is_found_by_registers();
    test_the_slot_is_found_in_its_module();
    test_the_end_of_a_block_counts_and_no_more();
    test_a_slot_that_cannot_be_read_is_none();
    return failures != 0;
}
