// The text of a module with its entries: pages of its plan that are mapped over its
// own. Processes share them, and only a page in which code is woken becomes a copy of
// their own.
#pragma once
#include <stdbool.h>

#include "arm/record.h"
#include "os/memory.h"
#include "patch/patch.h"

// Puts the entries of a module in place, whose stubs are mapped. False, and nothing is
// changed, when the plan has no such text, when the loaded text is another one than it
// was made for, or when the system forbids it.
bool ll_image_put(const struct ll_arm_module* module,
                  const struct ll_patch_target* target);

// To be called before code at an address of the module is written for the first time.
// The page of it stays in memory from then on.
static inline void ll_image_will_write(const struct ll_arm_module* module,
                                       uint32_t address) {
    const struct ll_arm_header* header = module->plan.header;
    uint64_t page = (address - (uint64_t)header->text_address) / LL_PAGE_SIZE;
    if (module->written != NULL && page < header->text_page_count) {
        __atomic_or_fetch(&module->written[page / 8], (uint8_t)(1 << page % 8),
                          __ATOMIC_RELAXED);
    }
}

// The same for all pages of the module's text in [start, end) of the process. False
// when there is none.
bool ll_image_will_be_written(const struct ll_arm_module* module, uintptr_t start,
                              uintptr_t end);

// Gives the pages back that nobody has written to. Code that runs is woken, and so was
// written to: most of the others are there since the kernel brings in sixteen pages
// where it needs one. While nobody writes.
void ll_image_let_go(const struct ll_arm_module* module);
