// Hooks stamp what a word refers to, and leave every register but rax and rcx alone.
#include "patch/hooks.h"

#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "patch/shadow.h"

enum { AREA = 1 << 20, STRINGS = 4 };

static const uintptr_t heap = (uintptr_t)LL_HEAP_TAG << 40;
static const uintptr_t caller = 0x7f1234567890;

static struct ll_granule_stamp stamp_of(uintptr_t address) {
    return *(struct ll_granule_stamp*)((address & ~(uintptr_t)15) + LL_SHADOW_DELTA);
}

static uint64_t clock_now(void) {
    return *(uint64_t*)LL_LOSS_CLOCK;
}

// What the registers hold before and after a call, apart from rax, rcx and rsp.
struct registers {
    uint64_t values[13];
};

// Calls `hook` with rax, rcx and rdi as given and numbers in the other registers;
// returns the address behind the call.
uint64_t call_with_registers(uint64_t hook, uint64_t rax, uint64_t rcx, uint64_t rdi,
                             struct registers* after);

__asm__(".text\n"
        ".globl call_with_registers\n"
        "call_with_registers:\n"
        "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n"
        "pushq %r15\n"
        "movq %r8, %r15\n"
        "pushq %rdi\n"
        "movq %rsi, %rax\n"
        "movq %rcx, %rdi\n"
        "movq %rdx, %rcx\n"
        "movq $2, %rdx\n movq $3, %rbx\n movq $4, %rsi\n movq $6, %rbp\n"
        "movq $7, %r8\n movq $8, %r9\n movq $9, %r10\n movq $10, %r11\n"
        "movq $11, %r12\n movq $12, %r13\n movq $13, %r14\n"
        "call *(%rsp)\n"
        "1:\n"
        "movq %rdx, 0(%r15)\n movq %rbx, 8(%r15)\n movq %rsi, 16(%r15)\n"
        "movq %rdi, 24(%r15)\n movq %rbp, 32(%r15)\n movq %r8, 40(%r15)\n"
        "movq %r9, 48(%r15)\n movq %r10, 56(%r15)\n movq %r11, 64(%r15)\n"
        "movq %r12, 72(%r15)\n movq %r13, 80(%r15)\n movq %r14, 88(%r15)\n"
        "movq %rcx, 96(%r15)\n"
        "leaq 1b(%rip), %rax\n"
        "popq %rdi\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n"
        "ret\n");

// Calls a hook as a trampoline does; returns the place it must tell. The string begins
// at the slot when `count` is not 0.
static uint32_t call_hook(unsigned number, uintptr_t slot, uint64_t count,
                          struct registers* after) {
    uint64_t hook = *(uint64_t*)(uintptr_t)(LL_HOOK_TABLE + 8 * number);
    uint64_t rax = count != 0 ? caller : slot;
    uint64_t rcx = count != 0 ? count : caller;
    return (uint32_t)call_with_registers(hook, rax, rcx, slot, after);
}

static bool are_kept(const struct registers* after, uintptr_t slot) {
    const uint64_t expected[12] = {2, 3, 4, slot, 6, 7, 8, 9, 10, 11, 12, 13};
    return memcmp(after->values, expected, sizeof expected) == 0;
}

static bool tells(struct ll_granule_stamp stamp, uint64_t clock, uint32_t place) {
    return ll_stamp_clock(stamp) == clock && ll_stamp_caller(stamp) == caller &&
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
            CHECK(tells(stamp_of(words[i]), before + i + 1, place));
        }
        CHECK(clock_now() == before + count);
    }
}

static void test_other_words_are_not_stamped(void) {
    uint64_t before = clock_now();
    const uint64_t others[] = {0, heap - 16, heap + ((uint64_t)1 << 40),
                               heap | (uint64_t)1 << 60};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        words[0] = others[i];
        struct registers after;
        call_hook(0, (uintptr_t)words, 0, &after);
    }
    CHECK(clock_now() == before);
}

static void test_slots_on_the_stack_are_not_stamped(void) {
    uint64_t before = clock_now();
    volatile uint64_t local = heap + 0x8000;
    struct registers after;
    call_hook(0, (uintptr_t)&local, 0, &after);
    CHECK(clock_now() == before);
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
        CHECK(tells(stamp_of(words[1]), before + 1, place));
        CHECK(tells(stamp_of(words[7]), before + 7, place));
    }
}

static void test_a_locked_clock_goes_on(void) {
    uint64_t before = clock_now();
    ll_hooks_lock_clock();
    words[0] = heap + 0x40;
    struct registers after;
    uint32_t place = call_hook(0, (uintptr_t)words, 0, &after);
    CHECK(are_kept(&after, (uintptr_t)words));
    CHECK(tells(stamp_of(words[0]), before + 1, place));
    CHECK(ll_hooks_tick() == before + 2);
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
    void* shadow = (void*)((uintptr_t)(LL_HEAP_TAG + 1) << 40);
    CHECK(mmap(shadow, AREA, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == shadow);
    CHECK(ll_hooks_start());
    CHECK(ll_hooks_start());
    test_every_word_is_stamped();
    test_other_words_are_not_stamped();
    test_slots_on_the_stack_are_not_stamped();
    test_a_string_stamps_its_whole_words();
    test_a_locked_clock_goes_on();
}

int main(void) {
    test_a_stamp_keeps_all_bits();
    if (!SHADOW_IS_TAKEN) {
        test_hooks();
    }
    return failures != 0;
}
