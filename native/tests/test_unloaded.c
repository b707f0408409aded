// References in the variables of a library that is unloaded.
#include "lens/unloaded.h"

#include <stdbool.h>

#include "check.h"
#include "heap/heap.h"
#include "lens/stamps.h"

enum { BIAS = 0x5000, OTHER_BIAS = 0x9000, SIZE = 100, SITE = 1 };

static uintptr_t variables[4];

static uintptr_t new_block(void) {
    uintptr_t block = (uintptr_t)ll_heap_allocate(SIZE, SITE);
    ll_stamp_birth(block);
    return block;
}

static void note_all(uintptr_t bias) {
    ll_unloaded_note(bias, (uintptr_t)variables, (uintptr_t)(variables + 4));
}

static bool is_stamped_by(uintptr_t block, uint32_t site) {
    struct ll_stamp stamp = ll_stamp_latest(block, SIZE);
    return stamp.cause == LL_STAMP_unmapped && stamp.place == site;
}

static bool is_unstamped(uintptr_t block) {
    return ll_stamp_latest(block, SIZE).cause == LL_STAMP_none;
}

static void test_what_variables_referred_to_is_stamped(void) {
    uintptr_t first = new_block();
    uintptr_t second = new_block();
    uintptr_t held_elsewhere = new_block();
    variables[0] = first;
    variables[1] = 5;
    variables[3] = second + 40;
    note_all(BIAS);
    variables[0] = 0; // the memory is gone by then
    ll_unloaded_stamp(7);
    CHECK(is_stamped_by(first, 7));
    CHECK(is_stamped_by(second, 7));
    CHECK(is_unstamped(held_elsewhere));
}

static void test_a_library_that_stays_loses_nothing(void) {
    variables[0] = new_block();
    note_all(BIAS);
    ll_unloaded_keep(OTHER_BIAS);
    ll_unloaded_keep(BIAS);
    ll_unloaded_stamp(7);
    CHECK(is_unstamped(variables[0]));
}

static void test_only_the_libraries_that_went_are_stamped(void) {
    uintptr_t gone = new_block();
    variables[0] = gone;
    note_all(BIAS);
    variables[0] = new_block();
    note_all(OTHER_BIAS);
    ll_unloaded_keep(OTHER_BIAS);
    ll_unloaded_stamp(8);
    CHECK(is_stamped_by(gone, 8));
    CHECK(is_unstamped(variables[0]));
}

static void test_notes_are_forgotten(void) {
    variables[0] = new_block();
    note_all(BIAS);
    ll_unloaded_stamp(7);
    ll_unloaded_stamp(8);
    CHECK(is_stamped_by(variables[0], 7));
}

static void test_only_whole_words_are_variables(void) {
    uintptr_t first = new_block();
    uintptr_t last = new_block();
    variables[0] = first;
    variables[1] = 0;
    variables[3] = last;
    ll_unloaded_note(BIAS, (uintptr_t)variables + 1, (uintptr_t)(variables + 4) - 1);
    ll_unloaded_stamp(7);
    CHECK(is_unstamped(first));
    CHECK(is_unstamped(last));
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
    CHECK(ll_heap_start());
    CHECK(ll_stamps_start());
    if (failures == 0) {
        test_what_variables_referred_to_is_stamped();
        test_a_library_that_stays_loses_nothing();
        test_only_the_libraries_that_went_are_stamped();
        test_notes_are_forgotten();
        test_only_whole_words_are_variables();
    }
    return failures != 0;
}
