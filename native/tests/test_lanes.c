// A store with a mask loses the words that it writes as a whole, and reads no others.
#include <sys/mman.h>

#include "check.h"
#include "patch/hooks.h"
#include "patch/shadow.h"

enum {
    AREA = 1 << 20,
    BY_LANE = 13,
    VECTOR_BYTES = 64,
    WORDS = 16,
    PAGE = 4096,
    ROUNDS = 3000
};

static const uintptr_t test_caller = 0x7f1234567890;
static const uintptr_t heap = (uintptr_t)LL_HEAP_TAG << 40;
static const uintptr_t heap_bytes = AREA / 2;

static uint64_t hook_at(unsigned number) {
    return *(uint64_t*)(uintptr_t)(LL_HOOK_TABLE + 8 * number);
}

static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Calls a hook with the mask in rdx.
static uint64_t call_masked(uint64_t hook, uintptr_t slot, uint64_t mask) {
    uint64_t place = 0;
    register uint64_t rdx __asm__("rdx") = mask;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n"
                     "call *%[hook]\n"
                     "1: leaq 128(%%rsp), %%rsp\n"
                     "leaq 1b(%%rip), %[place]\n"
                     : [place] "=&r"(place), "+r"(rdx), "+a"(slot)
                     : [hook] "r"(hook), "c"(test_caller)
                     : "memory", "cc");
    return place;
}

static bool is_written(uint64_t mask, unsigned lane_bytes, long byte) {
    return byte >= 0 && byte < VECTOR_BYTES && (mask >> (byte / lane_bytes) & 1) != 0;
}

static bool is_overwritten(uint64_t mask, unsigned lane_bytes, long word_at) {
    for (long byte = word_at; byte < word_at + 8; byte++) {
        if (!is_written(mask, lane_bytes, byte)) {
            return false;
        }
    }
    return true;
}

static uint64_t lanes_of(uint64_t bits, unsigned lane_bytes) {
    return lane_bytes == 1 ? bits : bits & (((uint64_t)1 << 64 / lane_bytes) - 1);
}

static void check_stamps(const uint64_t* words, unsigned offset, unsigned lane_shift,
                         uint64_t mask) {
    for (unsigned i = 0; i < WORDS; i++) {
        *ll_stamp_of(words[i]) = (struct ll_granule_stamp){{0, 0}};
    }
    uint64_t place =
        call_masked(hook_at(BY_LANE + lane_shift), (uintptr_t)words + offset, mask);
    for (unsigned i = 0; i < WORDS; i++) {
        struct ll_granule_stamp stamp = *ll_stamp_of(words[i]);
        bool lost = is_overwritten(mask, 1U << lane_shift, 8L * i - (long)offset);
        CHECK((ll_stamp_clock(stamp) != 0) == lost);
        CHECK(!lost || (ll_stamp_caller(stamp) == test_caller &&
                        ll_stamp_place(stamp) == (uint32_t)place));
    }
}

static void test_whole_words_are_lost(void) {
    static uint64_t words[WORDS];
    for (unsigned i = 0; i < WORDS; i++) {
        words[i] = heap + 0x40 * (i + 1);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned lane_shift = next_random() % 4;
        uint64_t dense = next_random() | next_random() | next_random();
        unsigned offset = next_random() % 3 == 0 ? next_random() % 32 : 0;
        check_stamps(words, offset, lane_shift, lanes_of(dense, 1U << lane_shift));
    }
}

static void test_what_the_mask_leaves_out_is_not_read(void) {
    char* pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
    uint64_t* last = (uint64_t*)(pages + PAGE) - 1;
    *last = heap + 0x2000;
    call_masked(hook_at(BY_LANE), (uintptr_t)last, 0xff);
    CHECK(ll_stamp_clock(*ll_stamp_of(*last)) != 0);
    call_masked(hook_at(BY_LANE), (uintptr_t)(pages + PAGE), 0);
    call_masked(hook_at(BY_LANE), (uintptr_t)(pages + PAGE) - 3, 7);
    munmap(pages, 2 * (size_t)PAGE);
}

#ifdef __SANITIZE_THREAD__
enum { SHADOW_IS_TAKEN = 1 }; // ThreadSanitizer keeps its own tables there
#else
enum { SHADOW_IS_TAKEN = 0 };
#endif

static void test_lanes(void) {
    void* shadow = ll_stamp_of(heap);
    CHECK(mmap(shadow, AREA, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == shadow);
    CHECK(ll_hooks_start(&heap_bytes));
    test_whole_words_are_lost();
    ll_hooks_lock_clock();
    test_whole_words_are_lost();
    test_what_the_mask_leaves_out_is_not_read();
}

int main(void) {
    if (!SHADOW_IS_TAKEN) {
        test_lanes();
    }
    return failures != 0;
}
