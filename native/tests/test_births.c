// A loss tells where the reference was created that it ended.
#include "patch/births.h"

#include <sys/mman.h>

#include "check.h"
#include "hook_calls.h"
#include "patch/hooks.h"
#include "patch/loss_page.h"
#include "patch/site_hooks.h"

enum { AREA = 1 << 20, AFTER_WORD = 9, COPIED_STEP = 17, COPIED_BYTES = 18 };

static const uintptr_t heap = (uintptr_t)LL_HEAP_TAG << 40;
static const uintptr_t heap_bytes = AREA / 2;
static uint64_t slots[8];

static uint32_t store(unsigned number) {
    struct registers after;
    uint32_t place = call_hook(AFTER_WORD + number, (uintptr_t)slots, 0, &after);
    CHECK(after.values[3] == (uintptr_t)slots);
    return place;
}

static void lose(unsigned number) {
    struct registers after;
    call_hook(number, (uintptr_t)slots, 0, &after);
    CHECK(after.values[3] == (uintptr_t)slots);
}

static void test_a_lost_reference_has_its_birth(void) {
    for (unsigned number = 0; number < 4; number++) {
        for (unsigned i = 0; i < 1U << number; i++) {
            slots[i] = heap + 0x1000 * (number + 1) + 48 * i;
        }
        uint32_t place = store(number);
        lose(number);
        for (unsigned i = 0; i < 1U << number; i++) {
            struct ll_birth birth = ll_birth_at(slots[i]);
            CHECK(birth.is_known && birth.place == place &&
                  birth.caller == test_caller);
        }
    }
}

static void test_an_unnoted_reference_has_none(void) {
    slots[0] = heap + 0x40;
    store(0);
    uintptr_t other = (uintptr_t)slots + (sizeof(uint64_t) << 20);
    ll_births_carry(other, slots[0]);
    CHECK(!ll_birth_at(slots[0]).is_known);
    ll_births_carry((uintptr_t)slots, slots[0]);
    CHECK(ll_birth_at(slots[0]).is_known);
}

static void test_other_words_are_not_noted(void) {
    slots[0] = heap + 0x80;
    uint32_t place = store(0);
    slots[0] = 5;
    store(0);
    slots[0] = heap + 0x80;
    lose(0);
    CHECK(ll_birth_at(slots[0]).place == place);
}

static void test_another_pointer_has_none(void) {
    slots[0] = heap + 0x9000;
    store(0);
    slots[0] = heap + 0xa000;
    lose(0);
    CHECK(!ll_birth_at(slots[0]).is_known);
}

static void test_moved_references_keep_their_births(void) {
    uint64_t moved[2] = {0};
    slots[0] = heap + 0xb000;
    uint32_t place = store(0);
    slots[1] = heap + 0xc000;
    moved[0] = slots[0];
    moved[1] = slots[1];
    ll_births_move((uintptr_t)slots, (uintptr_t)moved, moved, 2);
    ll_births_carry((uintptr_t)&moved[0], moved[0]);
    ll_births_carry((uintptr_t)&moved[1], moved[1]);
    CHECK(ll_birth_at(moved[0]).is_known && ll_birth_at(moved[0]).place == place);
    CHECK(!ll_birth_at(moved[1]).is_known);
}

static void check_copied(unsigned hook, uint64_t steps, unsigned words,
                         uint64_t flags) {
    static uint64_t from[4];
    bool is_downwards = flags == FLAGS_DOWNWARDS;
    for (unsigned i = 0; i < words; i++) {
        from[i] = heap + 0xd000 + 0x1000 * hook + 64 * i;
        slots[i] = 0;
    }
    struct hook_input input = {.rax = test_caller,
                               .rcx = steps,
                               .rdi = (uintptr_t)&slots[is_downwards ? words - 1 : 0],
                               .rsi = (uintptr_t)&from[is_downwards ? words - 1 : 0],
                               .flags = flags};
    struct registers after;
    uint32_t place = call_hook_with(hook, &input, &after);
    CHECK(after.values[2] == input.rsi && after.values[3] == input.rdi);
    for (unsigned i = 0; i < words; i++) {
        struct ll_birth birth = ll_birth_in((uintptr_t)&slots[i], from[i]);
        CHECK(birth.is_known && birth.place == place && birth.caller == test_caller);
    }
}

static void test_copied_references_are_noted(void) {
    check_copied(COPIED_STEP, 77, 1, FLAGS_UPWARDS);
    for (unsigned unit = 0; unit < 4; unit++) {
        check_copied(COPIED_BYTES + unit, 32 >> unit, 4, FLAGS_UPWARDS);
    }
    check_copied(COPIED_BYTES + 3, 4, 4, FLAGS_DOWNWARDS);
}

// As code that was compiled with births calls.
static void test_compiled_code_has_births_of_its_own(void) {
    enum { SITE = 0x555000, LOSING_SITE = 0x555020, CONTEXT = 7 };
    const struct ll_loss_page* page = ll_loss_page();
    uint64_t pointer = heap + 0xf000;
    uintptr_t slot = (uintptr_t)&slots[3];
    ll_site_hooks_start();
    page->bear(pointer, SITE, CONTEXT, slot);
    page->lose(pointer, LOSING_SITE, CONTEXT + 1, slot);
    struct ll_birth birth = ll_birth_at(pointer);
    CHECK(birth.caller == SITE && birth.place == CONTEXT);
    CHECK(birth.is_known == ll_birth_known_at(page->clock));
    const struct ll_granule_stamp* stamp = ll_stamp_of(pointer);
    CHECK(ll_stamp_clock(*stamp) == page->clock);
    CHECK(ll_stamp_caller(*stamp) == LOSING_SITE);
    CHECK(ll_stamp_place(*stamp) == CONTEXT + 1);
    page->lose(pointer, LOSING_SITE, CONTEXT, (uintptr_t)&slots[4]);
    CHECK(!ll_birth_at(pointer).is_known);
}

static void test_numbers_beyond_the_heap_are_none_of_its_references(void) {
    const struct ll_loss_page* page = ll_loss_page();
    uint64_t clock = page->clock;
    page->bear(heap + AREA * 16, 1, 1, (uintptr_t)&slots[5]);
    page->lose(heap + AREA * 16, 1, 1, (uintptr_t)&slots[5]);
    CHECK(page->clock == clock);
    CHECK(!ll_birth_in((uintptr_t)&slots[5], heap + AREA * 16).is_known);
}

#ifdef __SANITIZE_THREAD__
enum { SHADOW_IS_TAKEN = 1 }; // ThreadSanitizer keeps its own tables there
#else
enum { SHADOW_IS_TAKEN = 0 };
#endif

static bool map_shadow(uintptr_t start) {
    return mmap((void*)start, AREA, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                0) == (void*)start;
}

static void test_births(void) {
    uintptr_t shadow = (uintptr_t)ll_stamp_of(heap);
    CHECK(map_shadow(shadow));
    CHECK(map_shadow(shadow + LL_BIRTH_DELTA));
    CHECK(ll_births_start());
    CHECK(ll_hooks_start(&heap_bytes));
    test_a_lost_reference_has_its_birth();
    test_an_unnoted_reference_has_none();
    test_other_words_are_not_noted();
    test_another_pointer_has_none();
    test_moved_references_keep_their_births();
    test_copied_references_are_noted();
    test_compiled_code_has_births_of_its_own();
    test_numbers_beyond_the_heap_are_none_of_its_references();
    ll_hooks_lock_clock();
    test_a_lost_reference_has_its_birth();
}

int main(void) {
    CHECK(!ll_births_on);
    if (!SHADOW_IS_TAKEN) {
        test_births();
    }
    return failures != 0;
}
