#include "lens/touches.h"

#include "arm/record.h"
#include "arm/uses.h"
#include "arm/vectors.h"
#include "arm/window.h"
#include "stack/stack.h"

bool ll_touches_on;

static uint32_t stack_at(uintptr_t pc, uintptr_t sp, uintptr_t rbp,
                         struct ll_arm_caller* caller) {
    struct ll_return_slot slot;
    uint32_t node = ll_stack_capture_at(pc, sp, rbp, &slot);
    *caller = (struct ll_arm_caller){slot.words, slot.by_rbp};
    return node;
}

void ll_touches_start(void) {
    if (ll_vectors_can_be_kept()) {
        ll_arm.stack_at = stack_at;
    }
    // Uses keep the nodes of their stacks.
    ll_stack_keep_nodes();
    ll_touches_on = true;
}

static bool find_live(uintptr_t start, struct ll_block* block) {
    return ll_block_locate(start, block) && ll_block_is_live(*block);
}

bool ll_touch_by_kernel_is_wanted(uintptr_t start) {
    struct ll_block block;
    if (!find_live(start, &block)) {
        return false;
    }
    uint64_t word = __atomic_load_n(ll_block_twin(block), __ATOMIC_RELAXED);
    const struct ll_use* use = ll_use_get(ll_touch_use(word));
    return use == NULL || use->place != 0 ||
           ll_touch_last(word) != __atomic_load_n(&ll_touch_tick, __ATOMIC_RELAXED);
}

void ll_touch_by_kernel(uintptr_t start, uint32_t site) {
    struct ll_block block;
    uint32_t use = site == 0 ? 0 : ll_use_number(0, site);
    if (use == 0 || !find_live(start, &block)) {
        return;
    }
    uint64_t tick = __atomic_load_n(&ll_touch_tick, __ATOMIC_RELAXED);
    uint64_t word = __atomic_load_n(ll_block_twin(block), __ATOMIC_RELAXED);
    uint64_t first = ll_touch_use(word) == 0 ? tick : ll_touch_first(word);
    __atomic_store_n(ll_block_twin(block), ll_touch_word(tick, use, first),
                     __ATOMIC_RELAXED);
    ll_use_note(use);
}

struct ll_touch ll_touch_of(struct ll_block block) {
    uint64_t word = __atomic_load_n(ll_block_twin(block), __ATOMIC_RELAXED);
    return (struct ll_touch){
        .first_ns = ll_ns_of_tick(ll_touch_first(word)),
        .last_ns = ll_ns_of_tick(ll_touch_last(word)),
        .windows = ll_windows_since(ll_touch_last(word)),
        .use = ll_touch_use(word),
    };
}
