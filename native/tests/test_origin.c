// Stamps with the stack of the caller: recalled where it is known, taken where not, and
// without a trace in the registers of the program.
#include "patch/origin.h"

#include <sys/mman.h>

#include "check.h"
#include "hook_calls.h"
#include "patch/hooks.h"

enum { AREA = 1 << 20, KNOWN = 7, TAKEN = 9 };

static const uintptr_t heap = (uintptr_t)LL_HEAP_TAG << 40;
static const uintptr_t heap_bytes = AREA / 2;
static uint64_t slots[8];
static struct ll_storer seen;
static unsigned recalls;
static unsigned takes;
static uint32_t known;

static uint32_t recall(const struct ll_storer* storer) {
    (void)storer;
    recalls++;
    __asm__ volatile("pcmpeqd %%xmm7, %%xmm7" : : : "xmm7");
    return known;
}

static uint32_t take(const struct ll_storer* storer) {
    seen = *storer;
    takes++;
    __asm__ volatile("pcmpeqd %%xmm7, %%xmm7" : : : "xmm7");
    return TAKEN;
}

static void test_what_is_known_is_not_taken(void) {
    struct registers after;
    slots[0] = heap + 0x100;
    known = KNOWN;
    uint32_t place = call_hook(0, (uintptr_t)slots, 0, &after);
    CHECK(recalls == 1 && takes == 0);
    CHECK(ll_stamp_caller(*ll_stamp_of(slots[0])) == (LL_ORIGIN_STACK | KNOWN));
    CHECK(ll_stamp_place(*ll_stamp_of(slots[0])) == place);
    known = 0;
}

static void test_a_store_is_described_once(void) {
    struct registers after;
    slots[0] = heap + 0x200;
    slots[1] = heap + 0x300;
    takes = 0;
    uint32_t place = call_hook(1, (uintptr_t)slots, 0, &after);
    CHECK(takes == 1);
    CHECK(seen.caller == test_caller && seen.rbp == after.values[4]);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(ll_stamp_caller(*ll_stamp_of(slots[i])) == (LL_ORIGIN_STACK | TAKEN));
        CHECK(ll_stamp_place(*ll_stamp_of(slots[i])) == place);
    }
}

static void test_strings_have_stacks_too(void) {
    enum { WORDS_HOOK = 8 };
    struct registers after;
    slots[0] = heap + 0x400;
    call_hook(WORDS_HOOK, (uintptr_t)slots, 1, &after);
    CHECK(seen.caller == test_caller && seen.rbp == after.values[4]);
    CHECK(ll_stamp_caller(*ll_stamp_of(slots[0])) == (LL_ORIGIN_STACK | TAKEN));
}

// Calls the hook of one word with a value in a vector register; returns what is left.
static uint64_t vector_after_hook(uint64_t value) {
    uint64_t hook = *(uint64_t*)(uintptr_t)LL_HOOK_TABLE;
    uint64_t rax = (uintptr_t)slots;
    uint64_t rcx = test_caller;
    uint64_t left;
    __asm__ volatile("movq %[value], %%xmm7\n\t"
                     "leaq -128(%%rsp), %%rsp\n\t"
                     "call *%[hook]\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     "movq %%xmm7, %[left]"
                     : [left] "=&r"(left), "+a"(rax), "+c"(rcx)
                     : [value] "r"(value), [hook] "r"(hook)
                     : "xmm7", "memory", "cc");
    return left;
}

static void test_vector_registers_are_kept(void) {
    slots[0] = heap + 0x500;
    known = 0;
    CHECK(vector_after_hook(0x1234567887654321) == 0x1234567887654321);
    known = KNOWN;
    CHECK(vector_after_hook(0x8765432112345678) == 0x8765432112345678);
}

#ifdef __SANITIZE_THREAD__
enum { SHADOW_IS_TAKEN = 1 }; // ThreadSanitizer keeps its own tables there
#else
enum { SHADOW_IS_TAKEN = 0 };
#endif

int main(void) {
    uintptr_t shadow = (uintptr_t)ll_stamp_of(heap);
    if (SHADOW_IS_TAKEN) {
        return 0;
    }
    CHECK(mmap((void*)shadow, AREA, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
               0) == (void*)shadow);
    CHECK(!ll_origins_with_stacks());
    if (ll_origins_have_stacks((struct ll_caller_stacks){recall, take})) {
        CHECK(ll_origins_with_stacks() && ll_hooks_start(&heap_bytes));
        test_what_is_known_is_not_taken();
        test_a_store_is_described_once();
        test_strings_have_stacks_too();
        test_vector_registers_are_kept();
    }
    return failures != 0;
}
