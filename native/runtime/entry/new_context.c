#include "entry/new_context.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "arm/vectors.h"
#include "entry/site.h"
#include "lens/contexts.h"

// A processor for which this is false has no vector registers but those that `fxsave`
// keeps.
static bool has_extended_state;

static LL_NOINLINE void learn(uint32_t context, struct ll_caller caller) {
    int saved_errno = errno;
    struct ll_node innermost;
    uint32_t site = ll_entry_site(caller);
    ll_stack_keep_nodes();
    if (ll_node_get(site, &innermost)) {
        ll_context_learn(context, innermost.parent);
    }
    errno = saved_errno;
}

LL_IN_HOOK LL_NOINLINE static void learn_by_xsave(uint32_t context,
                                                  struct ll_caller caller) {
    _Alignas(64) uint8_t image[LL_VECTORS_BYTES];
    for (size_t i = LL_VECTORS_HEADER; i < LL_VECTORS_HEADER_END; i += 8) {
        *(volatile uint64_t*)(image + i) = 0;
    }
    ll_vectors_save(image);
    learn(context, caller);
    ll_vectors_restore(image);
}

LL_IN_HOOK LL_NOINLINE static void learn_by_fxsave(uint32_t context,
                                                   struct ll_caller caller) {
    _Alignas(16) uint8_t image[512];
    __asm__ volatile("fxsave64 (%0)" : : "r"(image) : "memory");
    learn(context, caller);
    __asm__ volatile("fxrstor64 (%0)" : : "r"(image) : "memory");
}

// Called through a function of the code that stamps: the stack that counts is that of
// the function's caller.
LL_IN_HOOK static void on_new_context(uint32_t context) {
    if (ll_context_is_known(context)) {
        return;
    }
    if (has_extended_state) {
        learn_by_xsave(context, LL_CALLER());
    } else {
        learn_by_fxsave(context, LL_CALLER());
    }
}

void (*ll_new_context_hook(void))(uint32_t context) {
    has_extended_state = ll_vectors_can_be_kept();
    return on_new_context;
}
