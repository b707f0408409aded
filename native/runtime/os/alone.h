// A program of one thread does without the lock prefix, which costs more than the rest
// of a short way through the heap: one instruction is whole for signal handlers as it
// is. Only for words that no other process changes, either.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "os/lock.h"

// glibc's, false once the program has started a thread.
extern char __libc_single_threaded __attribute__((weak));

LL_INLINE bool ll_is_alone(void) {
    return LL_LIKELY(&__libc_single_threaded != NULL) && __libc_single_threaded;
}

// As ll_lock_try, for a lock that nobody but threads of the program takes.
LL_INLINE bool ll_lock_try_among_threads(struct ll_lock* lock) {
    if (LL_LIKELY(ll_is_alone())) {
        uint32_t found = LL_LOCK_FREE;
        __asm__ volatile("cmpxchgl %2, %1"
                         : "+a"(found), "+m"(lock->state)
                         : "r"((uint32_t)LL_LOCK_HELD)
                         : "memory", "cc");
        return found == LL_LOCK_FREE;
    }
    return ll_lock_try(lock);
}

// Adds one to a count; returns the new count.
LL_INLINE uint16_t ll_count_among_threads(uint16_t* count) {
    if (LL_LIKELY(ll_is_alone())) {
        uint16_t before = 1;
        __asm__ volatile("xaddw %0, %1"
                         : "+r"(before), "+m"(*count)
                         :
                         : "memory", "cc");
        return (uint16_t)(before + 1);
    }
    return __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
}
