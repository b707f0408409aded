// The look lock. Its holder has every signal blocked, so that no handler of the program
// can wait for the thread it interrupted; a waiter has not, so that the holder can stop
// it.
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>

#include "os/lock.h"
#include "os/syscall.h"
#include "process/life.h"

enum { FREE, HELD, AWAITED };

static uint32_t state;

bool ll_look_try_lock(uint64_t* mask) {
    uint32_t expected = FREE;
    *mask = ll_signals_block();
    if (__atomic_compare_exchange_n(&state, &expected, HELD, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
        return true;
    }
    ll_signals_restore(*mask);
    return false;
}

static void wait_until_free(void) {
    uint32_t expected = HELD;
    __atomic_compare_exchange_n(&state, &expected, AWAITED, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    ll_syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, AWAITED, NULL);
}

uint64_t ll_look_lock(void) {
    uint64_t mask;
    while (!ll_look_try_lock(&mask)) {
        wait_until_free();
    }
    return mask;
}

void ll_look_unlock(uint64_t mask) {
    // All waiters try again: the one that gets the lock does not know of the others.
    if (__atomic_exchange_n(&state, FREE, __ATOMIC_RELEASE) == AWAITED) {
        ll_syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, INT_MAX);
    }
    ll_signals_restore(mask);
}
