#include "lens/holders.h"

#include "stack/bounds.h"

static struct ll_other_stacks other_stacks;

enum { RED_ZONE = 128 };

struct ll_holder ll_holder_find(const struct ll_registers* registers, bool red_zone,
                                uintptr_t start, uintptr_t end) {
    uintptr_t stack_pointer = registers->general[LL_RSP];
    struct ll_stack_bounds bounds;
    if (ll_bounds_at(&other_stacks, stack_pointer, &bounds)) {
        uintptr_t at = (stack_pointer + 7 - (red_zone ? RED_ZONE : 0)) & ~(uintptr_t)7;
        for (; at + sizeof(uintptr_t) <= bounds.high; at += sizeof(uintptr_t)) {
            if (*(const uintptr_t*)at - start <= end - start) {
                int64_t from_sp = (int64_t)(at - stack_pointer);
                return (struct ll_holder){LL_HOLDER_slot, 0, from_sp};
            }
        }
    }
    for (uint32_t i = 0; i < 16; i++) {
        if (i != LL_RSP && registers->general[i] - start <= end - start) {
            return (struct ll_holder){LL_HOLDER_register, i, 0};
        }
    }
    return (struct ll_holder){0};
}
