#include "patch/origin.h"

#include <cpuid.h>
#include <stddef.h>

// The vector state of x87, SSE, AVX and AVX-512, and the room for its largest image.
enum { STATE_MASK = 0xe7, IMAGE_BYTES = 2752, HEADER_START = 512, HEADER_END = 576 };
enum { XMM_BYTES = 256, DIRECTION = 1 << 10 };

static struct ll_caller_stacks stacks;

static bool can_save_everything(void) {
    unsigned eax = 0;
    unsigned ebx;
    unsigned ecx = 0;
    unsigned edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_OSXSAVE) != 0 &&
           __get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) != 0 &&
           (eax & bit_XSAVEC) != 0;
}

bool ll_origins_have_stacks(struct ll_caller_stacks wanted) {
    bool can_save = can_save_everything();
    if (can_save) {
        stacks = wanted;
    }
    return can_save;
}

bool ll_origins_with_stacks(void) {
    return stacks.take != NULL;
}

// clang-format off: assembly reads best one line below the other
#define EACH_XMM(move)                                                                 \
    move(0) move(1) move(2) move(3) move(4) move(5) move(6) move(7)                    \
    move(8) move(9) move(10) move(11) move(12) move(13) move(14) move(15)
#define SAVE_XMM(n) "movaps %%xmm" #n ", 16*" #n "(%0)\n\t"
#define LOAD_XMM(n) "movaps 16*" #n "(%0), %%xmm" #n "\n\t"
// clang-format on

LL_IN_HOOK static uint32_t recall(const struct ll_storer* storer) {
    _Alignas(16) uint8_t image[XMM_BYTES];
    __asm__ volatile(EACH_XMM(SAVE_XMM) : : "r"(image) : "memory");
    uint32_t node = stacks.recall(storer);
    __asm__ volatile(EACH_XMM(LOAD_XMM) : : "r"(image) : "memory");
    return node;
}

LL_IN_HOOK static void save_vectors(uint8_t* image) {
    for (size_t i = HEADER_START; i < HEADER_END; i += sizeof(uint64_t)) {
        *(volatile uint64_t*)(image + i) = 0;
    }
    __asm__ volatile("xsavec64 (%0)"
                     :
                     : "r"(image), "a"(STATE_MASK), "d"(0)
                     : "memory");
}

LL_IN_HOOK static void restore_vectors(const uint8_t* image) {
    __asm__ volatile("xrstor64 (%0)"
                     :
                     : "r"(image), "a"(STATE_MASK), "d"(0)
                     : "memory");
}

LL_IN_HOOK static uint32_t take(const struct ll_storer* storer) {
    _Alignas(64) uint8_t image[IMAGE_BYTES];
    uint64_t flags;
    save_vectors(image);
    // A program that copies downwards has the direction flag set.
    __asm__ volatile("pushfq\n\tpopq %0\n\tcld" : "=r"(flags) : : "memory");
    uint32_t node = stacks.take(storer);
    if ((flags & DIRECTION) != 0) {
        __asm__ volatile("std" : : : "cc");
    }
    restore_vectors(image);
    return node;
}

LL_IN_HOOK struct ll_origin ll_origin_of(const struct ll_storer* storer) {
    uint32_t node = 0;
    if (stacks.take != NULL && storer->caller != 0) {
        node = recall(storer);
        node = node != 0 ? node : take(storer);
    }
    return (struct ll_origin){node != 0 ? LL_ORIGIN_STACK | node : storer->caller,
                              (uint32_t)*storer->place};
}
