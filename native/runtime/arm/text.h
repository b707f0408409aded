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

LL_INLINE uint64_t ll_text_armed(const struct ll_arm_site* site) {
    return (uint64_t)(uint32_t)site->distance << 8 | 0xe9;
}

LL_INLINE uint64_t ll_text_original(const struct ll_arm_site* site) {
    uint64_t bytes = 0;
    memcpy(&bytes, site->original, sizeof site->original);
    return bytes;
}

// Sets `length` bytes of a module at an address to the first of `bytes`, whatever their
// neighbours in the word are at.
LL_INLINE void ll_text_write(const struct ll_arm_module* module, uint32_t address,
                             uint8_t length, uint64_t bytes) {
    uint64_t* word = (uint64_t*)(module->bias + ll_arm_word_around(address));
    unsigned shift = 8 * (address - ll_arm_word_around(address));
    uint64_t own = ((uint64_t)1 << 8 * length) - 1;
    uint64_t mask = own << shift;
    uint64_t wanted = (bytes & own) << shift;
    uint64_t seen;
    __asm__ volatile("movq %1, %0" : "=r"(seen) : "m"(*word));
    for (;;) {
        uint64_t next = (seen & ~mask) | wanted;
        uint64_t found = ll_text_exchange(word, seen, next);
        if (found == seen) {
            return;
        }
        seen = found;
    }
}

LL_INLINE void ll_text_set(const struct ll_arm_module* module,
                           const struct ll_arm_site* site, uint64_t bytes) {
    ll_text_write(module, ll_arm_jump_at(site), site->armed_length, bytes);
}

LL_INLINE void ll_text_arm(const struct ll_arm_module* module,
                           const struct ll_arm_site* site) {
    ll_text_set(module, site, ll_text_armed(site));
}

LL_INLINE void ll_text_disarm(const struct ll_arm_module* module,
                              const struct ll_arm_site* site) {
    ll_text_set(module, site, ll_text_original(site));
}
