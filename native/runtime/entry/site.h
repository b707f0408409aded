// The allocation site of an entry function: the stack of whoever called it.
#pragma once
#include <stdbool.h>

#include "base/attributes.h"
#include "heap/heap.h"
#include "stack/stack.h"

// True once ll_process_start has returned; allocation may come before any constructor.
extern bool ll_entry_is_started;
void ll_entry_start(void);

LL_INLINE ll_site ll_entry_site(struct ll_caller caller) {
    if (LL_UNLIKELY(!ll_entry_is_started)) {
        ll_entry_start();
    }
    return ll_stack_capture(caller);
}

// The same for a call that frees. Trees are freed by recursion, whose depth tells less
// than it costs.
LL_INLINE ll_site ll_entry_freeing_site(struct ll_caller caller) {
    return LL_LIKELY(ll_entry_is_started) ? ll_stack_capture_any_depth(caller)
                                          : ll_entry_site(caller);
}

// To be used in the body of an entry function itself, whose caller it means.
#define LL_SITE() ll_entry_site(LL_CALLER())
