// The vector registers of the program, kept while code runs that may use them.
#pragma once
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

enum {
    // The layout that processors lay down: SSE, AVX and AVX-512 end here.
    LL_VECTORS_BYTES = 2688,
    // What is neither written nor may be anything but 0 when they are restored.
    LL_VECTORS_HEADER = 512,
    LL_VECTORS_HEADER_END = 576,
    LL_VECTORS_MASK = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7,
};

// Whether processor and system can keep them by the instructions used here.
LL_INLINE bool ll_vectors_can_be_kept(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) != 0;
}

// `area` is aligned to 64 bytes, and its header all 0 before its first use.
LL_INLINE LL_IN_HOOK void ll_vectors_save(uint8_t* area) {
    __asm__ volatile("xsave64 (%0)"
                     :
                     : "r"(area), "a"(LL_VECTORS_MASK), "d"(0)
                     : "memory");
}

LL_INLINE LL_IN_HOOK void ll_vectors_restore(const uint8_t* area) {
    __asm__ volatile("xrstor64 (%0)"
                     :
                     : "r"(area), "a"(LL_VECTORS_MASK), "d"(0)
                     : "memory");
}
