// Writes the bytes that arm or disarm a site while other threads run them: one locked
// write of eight bytes within a cache line. Both states are valid for ever, so whoever
// reads the old bytes is right, too.
#pragma once
#include <string.h>

#include "arm/record.h"
#include "base/attributes.h"

LL_INLINE uint64_t ll_text_exchange(uint64_t* word, uint64_t old, uint64_t new_value) {
    // Not the compiler's own: the word need not be aligned.
    __asm__ volatile("lock cmpxchgq %2, %1"
                     : "+a"(old), "+m"(*word)
                     : "r"(new_value)
                     : "memory", "cc");
    return old;
}

// Sets the bytes of one site, whatever its neighbours in the word are at.
LL_INLINE void ll_text_set(const struct ll_arm_module* module,
                           const struct ll_arm_site* site, const uint8_t* bytes) {
    uint64_t* word = (uint64_t*)(module->bias + site->word_at);
    unsigned shift = 8 * (site->address - site->word_at);
    uint64_t wanted = 0;
    for (unsigned i = 0; i < site->armed_length; i++) {
        wanted |= (uint64_t)bytes[i] << (8 * i);
    }
    uint64_t mask = (((uint64_t)1 << 8 * site->armed_length) - 1) << shift;
    uint64_t seen;
    __asm__ volatile("movq %1, %0" : "=r"(seen) : "m"(*word));
    for (;;) {
        uint64_t next = (seen & ~mask) | wanted << shift;
        uint64_t found = ll_text_exchange(word, seen, next);
        if (found == seen) {
            return;
        }
        seen = found;
    }
}

LL_INLINE void ll_text_arm(const struct ll_arm_module* module,
                           const struct ll_arm_site* site) {
    ll_text_set(module, site, site->armed);
}

LL_INLINE void ll_text_disarm(const struct ll_arm_module* module,
                              const struct ll_arm_site* site) {
    ll_text_set(module, site, site->original + (site->address - site->word_at));
}
