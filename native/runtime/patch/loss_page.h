// What code that stamps shares with the runtime, at LL_LOSS_PAGE: trampolines
// (format/plan.md) and code that `leakline cc` compiled (format/sites.md).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "patch/shadow.h"

enum {
    LL_CONTEXTS_CACHED = 4096,
    // So many that one instruction tells the place of a context.
    LL_QUICK_CONTEXTS = 65536,
};

struct ll_loss_page {
    uint64_t clock;
    uint32_t mode;   // how compiled code has to count
    uint32_t* cache; // of contexts, each at its number modulo the size
    void (*hook)(uint32_t context);
    // Trampolines stamp pointers less than so far into the heap by themselves; 0 while
    // every loss is for the hooks.
    uint64_t stamp_limit;
    uint64_t minus_heap_start;
    uint64_t shadow_start; // the stamp of the first granule
    // What code that was compiled with births calls for heap pointers that a slot in
    // memory loses or gets; NULL while births are not wanted. `site` is where.
    void (*lose)(uint64_t pointer, uintptr_t site, uint32_t context, uintptr_t slot);
    void (*bear)(uint64_t pointer, uintptr_t site, uint32_t context, uintptr_t slot);
    // Whether the block that a heap pointer was of is free now. NULL until the heap
    // that the pointers are of is there.
    uint32_t (*is_gone)(uintptr_t pointer);
    // On pages of its own: contexts with which compiled code may stamp by itself, each
    // at its number modulo the size. None while there are threads.
    _Alignas(4096) uint32_t quick_contexts[LL_QUICK_CONTEXTS];
};

_Static_assert(offsetof(struct ll_loss_page, mode) == 8 &&
                   offsetof(struct ll_loss_page, cache) == 16 &&
                   offsetof(struct ll_loss_page, hook) == 24 &&
                   offsetof(struct ll_loss_page, lose) == 56 &&
                   offsetof(struct ll_loss_page, bear) == 64 &&
                   offsetof(struct ll_loss_page, is_gone) == 72 &&
                   offsetof(struct ll_loss_page, quick_contexts) == 4096,
               "as compiled into programs");
_Static_assert(LL_LOSS_PAGE + offsetof(struct ll_loss_page, stamp_limit) ==
                       LL_STAMP_LIMIT &&
                   LL_LOSS_PAGE + offsetof(struct ll_loss_page, minus_heap_start) ==
                       LL_MINUS_HEAP_START &&
                   LL_LOSS_PAGE + offsetof(struct ll_loss_page, shadow_start) ==
                       LL_SHADOW_START,
               "as trampolines have them");

LL_INLINE LL_IN_HOOK struct ll_loss_page* ll_loss_page(void) {
    return (struct ll_loss_page*)LL_LOSS_PAGE;
}

// All stamps of compiled code are left to functions until contexts are entered again. A
// place of the table is free while it has a context that belongs elsewhere. What is
// free already is not written, so that most of the table takes no memory.
LL_INLINE void ll_loss_page_forget_contexts(struct ll_loss_page* page) {
    for (size_t i = 0; i < LL_QUICK_CONTEXTS; i++) {
        volatile uint32_t* place = &page->quick_contexts[i];
        uint32_t elsewhere = i == 0;
        if (*place != elsewhere) {
            *place = elsewhere;
        }
    }
}
