// A lock of our own: four bytes, no libc, usable before any constructor. A forked child
// makes the locks that its parent's other threads held new again. The *masked* form
// keeps signal handlers of the holder's thread out, so that a handler can always wait
// for the lock without waiting for the code it interrupted.
#pragma once
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "os/syscall.h"

// All zeros is a free lock.
struct ll_lock {
    uint32_t state; // LL_LOCK_*
};

enum { LL_LOCK_FREE, LL_LOCK_HELD, LL_LOCK_CONTENDED };

LL_INLINE bool ll_lock_try(struct ll_lock* lock) {
    uint32_t expected = LL_LOCK_FREE;
    return __atomic_compare_exchange_n(&lock->state, &expected, LL_LOCK_HELD, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

LL_INLINE void ll_lock_take(struct ll_lock* lock) {
    for (int spin = 0; spin < 100; spin++) {
        if (ll_lock_try(lock)) {
            return;
        }
        __builtin_ia32_pause();
    }
    while (__atomic_exchange_n(&lock->state, LL_LOCK_CONTENDED, __ATOMIC_ACQUIRE) !=
           LL_LOCK_FREE) {
        ll_syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, LL_LOCK_CONTENDED,
                   NULL);
    }
}

LL_INLINE void ll_lock_drop(struct ll_lock* lock) {
    if (__atomic_exchange_n(&lock->state, LL_LOCK_FREE, __ATOMIC_RELEASE) ==
        LL_LOCK_CONTENDED) {
        ll_syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1);
    }
}

// The same for a lock that nobody ever waits for, which is quicker.
LL_INLINE void ll_lock_drop_unwaited(struct ll_lock* lock) {
    __atomic_store_n(&lock->state, LL_LOCK_FREE, __ATOMIC_RELEASE);
}

// In a forked child, for a lock that was held when it forked.
LL_INLINE void ll_lock_renew(struct ll_lock* lock) {
    __atomic_store_n(&lock->state, LL_LOCK_FREE, __ATOMIC_RELAXED);
}

// Blocks every signal of the calling thread; returns the mask to restore.
LL_INLINE uint64_t ll_signals_block(void) {
    uint64_t all = UINT64_MAX;
    uint64_t previous = 0;
    ll_syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &previous, sizeof previous);
    return previous;
}

LL_INLINE void ll_signals_restore(uint64_t previous) {
    ll_syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &previous, NULL,
               sizeof previous);
}

LL_INLINE uint64_t ll_lock_take_masked(struct ll_lock* lock) {
    uint64_t mask = ll_signals_block();
    ll_lock_take(lock);
    return mask;
}

LL_INLINE void ll_lock_drop_masked(struct ll_lock* lock, uint64_t mask) {
    ll_lock_drop(lock);
    ll_signals_restore(mask);
}
