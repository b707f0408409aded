// Knows where stacks lie without pthread_getattr_np, which allocates under a lock, and
// without opening files, which sandboxed programs may not.
#include "stack/bounds.h"

#include <errno.h>

#include "os/memory.h"
#include "os/syscall.h"

extern void* __libc_stack_end __attribute__((weak));

enum {
    // The kernel keeps this much below the main thread's stack free of mappings.
    MAIN_STACK_GAP = 128 << 20,
    // Tried at once above a stack pointer.
    FIRST_BYTES = 16 << 10,
    // No frame is larger than this.
    FRAME_MAX = 8 << 20,
};

static LL_THREAD_LOCAL struct ll_stack_bounds own;

void ll_bounds_set_own(uintptr_t low, uintptr_t high) {
    own = (struct ll_stack_bounds){low, high};
}

static bool is_main_thread(void) {
    return ll_syscall(SYS_gettid) == ll_syscall(SYS_getpid);
}

// Asks the kernel to read the word for a call that it then refuses: EFAULT if it cannot
// read it, EINVAL because there is no such way to change the signal mask.
bool ll_address_is_readable(uintptr_t address) {
    const long no_such_way = -1;
    return ll_syscall(SYS_rt_sigprocmask, no_such_way, address, 0, 8) == -EINVAL;
}

static uintptr_t page_of(uintptr_t address) {
    return address & ~(uintptr_t)(LL_PAGE_SIZE - 1);
}

// The end of the readable pages from `page` on, not looking further than `limit`.
static uintptr_t readable_until(uintptr_t page, uintptr_t limit) {
    while (page < limit && ll_address_is_readable(page)) {
        page += LL_PAGE_SIZE;
    }
    return page;
}

static struct ll_stack_bounds* find(struct ll_other_stacks* others, uintptr_t address) {
    for (unsigned i = 0; i < LL_OTHER_STACKS; i++) {
        if (ll_bounds_contain(others->bounds[i], address)) {
            return &others->bounds[i];
        }
    }
    return NULL;
}

// A stack that was not met before, or only higher up.
static struct ll_stack_bounds* add(struct ll_other_stacks* others, uintptr_t sp) {
    uintptr_t low = page_of(sp);
    uintptr_t high = low;
    while (high < low + FIRST_BYTES && ll_address_is_readable(high)) {
        high += LL_PAGE_SIZE;
        struct ll_stack_bounds* above = find(others, high);
        if (above != NULL) {
            above->low = low;
            return above;
        }
    }
    struct ll_stack_bounds* added = &others->bounds[others->next++ % LL_OTHER_STACKS];
    *added = (struct ll_stack_bounds){low, high};
    return added;
}

bool ll_bounds_of_other(struct ll_other_stacks* others, uintptr_t sp,
                        struct ll_stack_bounds* bounds) {
    struct ll_stack_bounds* known = find(others, sp);
    *bounds = known != NULL ? *known : *add(others, sp);
    return bounds->low < bounds->high;
}

bool ll_bounds_at(struct ll_other_stacks* others, uintptr_t sp,
                  struct ll_stack_bounds* bounds) {
    if (own.high == 0 && &__libc_stack_end != NULL && is_main_thread()) {
        uintptr_t end = (uintptr_t)__libc_stack_end + sizeof(uint64_t);
        ll_bounds_set_own(end - MAIN_STACK_GAP, end);
    }
    if (ll_bounds_contain(own, sp)) {
        *bounds = own;
        return true;
    }
    return ll_bounds_of_other(others, sp, bounds);
}

bool ll_bounds_widen(struct ll_other_stacks* others, uintptr_t address,
                     struct ll_stack_bounds* bounds) {
    struct ll_stack_bounds* known = find(others, bounds->low);
    if (known == NULL || known->high != bounds->high || address < bounds->high ||
        address - bounds->high > FRAME_MAX) {
        return false;
    }
    uintptr_t wanted = page_of(address) + LL_PAGE_SIZE;
    if (readable_until(bounds->high, wanted) != wanted) {
        return false;
    }
    known->high = bounds->high = wanted;
    return true;
}
