// Knows where stacks end without pthread_getattr_np, which allocates under a lock.
#include "stack/bounds.h"

#include "os/maps.h"
#include "os/syscall.h"

extern void* __libc_stack_end __attribute__((weak));

enum {
    // The kernel keeps this much below the main thread's stack free of mappings.
    MAIN_STACK_GAP = 128 << 20,
    OTHER_STACKS = 8,
};

// Addresses only, none of them a pointer into a block.
static LL_THREAD_LOCAL struct {
    struct ll_stack_bounds own;
    struct ll_stack_bounds others[OTHER_STACKS];
    unsigned next_other; // the oldest one, replaced first
} stacks;

struct search {
    uintptr_t sp;
    struct ll_stack_bounds* bounds;
    bool found;
};

static bool contains_sp(const struct ll_mapping* mapping, void* context) {
    struct search* search = context;
    if (mapping->end <= search->sp) {
        return true;
    }
    search->found = mapping->start <= search->sp && mapping->readable;
    *search->bounds = (struct ll_stack_bounds){mapping->start, mapping->end};
    return false;
}

bool ll_bounds_of_mapping(uintptr_t sp, struct ll_stack_bounds* bounds) {
    struct search search = {.sp = sp, .bounds = bounds};
    return ll_maps_visit(contains_sp, &search) && search.found;
}

static bool is_main_thread(void) {
    return ll_syscall(SYS_gettid) == ll_syscall(SYS_getpid);
}

static bool remember_other(uintptr_t sp, struct ll_stack_bounds* bounds) {
    for (unsigned i = 0; i < OTHER_STACKS; i++) {
        if (ll_bounds_contain(stacks.others[i], sp)) {
            *bounds = stacks.others[i];
            return true;
        }
    }
    if (!ll_bounds_of_mapping(sp, bounds)) {
        return false;
    }
    stacks.others[stacks.next_other++ % OTHER_STACKS] = *bounds;
    return true;
}

bool ll_bounds_at(uintptr_t sp, struct ll_stack_bounds* bounds) {
    if (stacks.own.high == 0 && &__libc_stack_end != NULL && is_main_thread()) {
        uintptr_t end = (uintptr_t)__libc_stack_end + sizeof(uint64_t);
        ll_bounds_set_own(end - MAIN_STACK_GAP, end);
    }
    if (ll_bounds_contain(stacks.own, sp)) {
        *bounds = stacks.own;
        return true;
    }
    return remember_other(sp, bounds);
}

void ll_bounds_set_own(uintptr_t low, uintptr_t high) {
    stacks.own = (struct ll_stack_bounds){low, high};
}
