// Hooks stamp what a word refers to, and leave every register but rax and rcx alone.
#include "patch/hooks.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "hook_calls.h"
#include "patch/loss_page.h"

enum { AREA = 1 << 20, STRINGS = 4 };

static const uintptr_t heap = (uintptr_t)LL_HEAP_TAG << 40;
static uintptr_t heap_bytes = AREA / 2;

static uint64_t clock_now(void) {
    return ll_loss_page()->clock;
}

static bool are_kept(const struct registers* after, uintptr_t slot) {
    const uint64_t expected[12] = {2, 3, 4, slot, 6, 7, 8, 9, 10, 11, 12, 13};
    return memcmp(after->values, expected, sizeof expected) == 0;
}

static bool tells(struct ll_granule_stamp stamp, uint64_t clock, uint32_t place) {
    return ll_stamp_clock(stamp) == clock && ll_stamp_caller(stamp) == test_caller &&
           ll_stamp_place(stamp) == place;
}

static uint64_t words[16];

static void test_every_word_is_stamped(void) {
    for (unsigned number = 0; number < STRINGS; number++) {
        unsigned count = 1U << number;
        for (unsigned i = 0; i < count; i++) {
            words[i] = heap + 0x1000 * (number + 1) + 64 * i + 5;
        }
        uint64_t before = clock_now();
        struct registers after;
        uint32_t place = call_hook(number, (uintptr_t)words, 0, &after);
        CHECK(are_kept(&after, (uintptr_t)words));
        for (unsigned i = 0; i < count; i++) {
            CHECK(tells(*ll_stamp_of(words[i]), before + i + 1, place));
        }
        CHECK(clock_now() == before + count);
    }
}

static void test_other_words_are_not_stamped(void) {
    uint64_t before = clock_now();
    const uint64_t others[] = {0, heap - 16, heap + heap_bytes,
                               heap + ((uint64_t)1 << 40), heap | (uint64_t)1 << 60};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        words[0] = others[i];
        struct registers after;
        call_hook(0, (uintptr_t)words, 0, &after);
    }
    CHECK(clock_now() == before);
}

static void test_a_heap_that_grew_is_stamped(void) {
    words[0] = heap + heap_bytes;
    heap_bytes += 16;
    uint64_t before = clock_now();
    struct registers after;
    uint32_t place = call_hook(0, (uintptr_t)words, 0, &after);
    CHECK(tells(*ll_stamp_of(words[0]), before + 1, place));
}

static void test_trampolines_may_stamp_as_far_as_a_hook_saw_the_heap(void) {
    struct registers after;
    heap_bytes += 64;
    words[0] = heap + heap_bytes;
    uint64_t before = ll_loss_page()->stamp_limit;
    call_hook(0, (uintptr_t)words, 0, &after);
    CHECK(ll_loss_page()->stamp_limit == before);
    words[0] = heap;
    call_hook(0, (uintptr_t)words, 0, &after);
    CHECK(ll_loss_page()->stamp_limit == heap_bytes);
    CHECK(ll_loss_page()->minus_heap_start + heap == 0);
    CHECK(ll_loss_page()->shadow_start == (uintptr_t)ll_stamp_of(heap));
}

static void test_slots_on_the_stack_are_not_stamped(void) {
    uint64_t before = clock_now();
    volatile uint64_t local = heap + 0x8000;
    struct registers after;
    call_hook(0, (uintptr_t)&local, 0, &after);
    CHECK(clock_now() == before);
}

// Beside the frames of a thread lie its variables.
static void test_slots_behind_the_end_of_the_stack_are_stamped(void) {
    volatile uint64_t locals[16];
    struct registers after;
    for (unsigned number = 0; number < STRINGS; number++) {
        for (unsigned i = 0; i < 16; i++) {
            locals[i] = heap + 0xa000 + 64 * i;
        }
        uint64_t before = clock_now();
        ll_hooks_set_stack_end((uintptr_t)(locals + 8));
        call_hook(number, (uintptr_t)locals, 0, &after);
        CHECK(clock_now() == before);
        uint32_t place = call_hook(number, (uintptr_t)(locals + 8), 0, &after);
        CHECK(are_kept(&after, (uintptr_t)(locals + 8)));
        CHECK(tells(*ll_stamp_of(locals[8]), before + 1, place));
        CHECK(clock_now() == before + (1U << number));
        ll_hooks_set_stack_end((uintptr_t)&after - (1 << 20));
        call_hook(number, (uintptr_t)(locals + 8), 0, &after);
        CHECK(clock_now() == before + (1U << number));
        ll_hooks_set_stack_end(0);
    }
}

static void test_a_string_stamps_its_whole_words(void) {
    for (unsigned unit = 0; unit < 4; unit++) {
        for (unsigned i = 0; i < 16; i++) {
            words[i] = heap + 0x9000 + 32 * i;
        }
        uint64_t before = clock_now();
        struct registers after;
        uintptr_t start = (uintptr_t)words + 3;
        uint32_t place = call_hook(5 + unit, start, 64U >> unit, &after);
        CHECK(are_kept(&after, start));
        CHECK(after.values[12] == 64U >> unit);
        // Words 1 to 7 lie in the 64 bytes from the third on.
        CHECK(clock_now() == before + 7);
        CHECK(tells(*ll_stamp_of(words[1]), before + 1, place));
        CHECK(tells(*ll_stamp_of(words[7]), before + 7, place));
    }
}

static void test_a_string_that_runs_downwards_stamps_what_lies_below(void) {
    for (unsigned i = 0; i < 16; i++) {
        words[i] = heap + 0xc000 + 32 * i;
    }
    uint64_t before = clock_now();
    struct hook_input input = {.rax = test_caller,
                               .rcx = 3,
                               .rdi = (uintptr_t)&words[8],
                               .rsi = 4,
                               .flags = FLAGS_DOWNWARDS};
    struct registers after;
    uint32_t place = call_hook_with(8, &input, &after);
    CHECK(are_kept(&after, input.rdi));
    CHECK((after.values[13] & (FLAGS_DOWNWARDS ^ FLAGS_UPWARDS)) != 0);
    CHECK(clock_now() == before + 3);
    CHECK(tells(*ll_stamp_of(words[6]), before + 1, place));
    CHECK(tells(*ll_stamp_of(words[8]), before + 3, place));
}

static void test_a_string_of_no_steps_stamps_nothing(void) {
    uint64_t before = clock_now();
    struct hook_input input = {.rax = test_caller,
                               .rcx = 0,
                               .rdi = (uintptr_t)&words[8],
                               .rsi = 4,
                               .flags = FLAGS_DOWNWARDS};
    struct registers after;
    call_hook_with(8, &input, &after);
    CHECK(clock_now() == before);
}

static void test_a_locked_clock_goes_on(void) {
    uint64_t before = clock_now();
    ll_hooks_lock_clock();
    CHECK(ll_loss_page()->stamp_limit == 0);
    words[0] = heap + 0x40;
    struct registers after;
    uint32_t place = call_hook(0, (uintptr_t)words, 0, &after);
    CHECK(are_kept(&after, (uintptr_t)words));
    CHECK(tells(*ll_stamp_of(words[0]), before + 1, place));
    CHECK(ll_hooks_tick() == before + 2);
    CHECK(ll_loss_page()->stamp_limit == 0);
}

static void test_a_stamp_keeps_all_bits(void) {
    struct ll_granule_stamp stamp =
        ll_stamp_pack(0xfedcba987654, 0x7fedcba98765, 0x89abcdef);
    CHECK(ll_stamp_clock(stamp) == 0xfedcba987654);
    CHECK(ll_stamp_caller(stamp) == 0x7fedcba98765);
    CHECK(ll_stamp_place(stamp) == 0x89abcdef);
}

#ifdef __SANITIZE_THREAD__
enum { SHADOW_IS_TAKEN = 1 }; // ThreadSanitizer keeps its own tables there
#else
enum { SHADOW_IS_TAKEN = 0 };
#endif

static void test_hooks(void) {
    void* shadow = ll_stamp_of(heap);
    CHECK(mmap(shadow, AREA, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == shadow);
    CHECK(ll_hooks_start(&heap_bytes));
    CHECK(ll_hooks_start(&heap_bytes));
    test_every_word_is_stamped();
    test_other_words_are_not_stamped();
    test_a_heap_that_grew_is_stamped();
    test_trampolines_may_stamp_as_far_as_a_hook_saw_the_heap();
    test_slots_on_the_stack_are_not_stamped();
    test_slots_behind_the_end_of_the_stack_are_stamped();
    test_a_string_stamps_its_whole_words();
    test_a_string_that_runs_downwards_stamps_what_lies_below();
    test_a_string_of_no_steps_stamps_nothing();
    test_a_locked_clock_goes_on();
}

int main(void) {
    test_a_stamp_keeps_all_bits();
    if (!SHADOW_IS_TAKEN) {
        test_hooks();
    }
    return failures != 0;
}
