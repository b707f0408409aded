// Redirects the stores of loaded modules into the trampolines of their plans. Takes no
// libc lock and allocates nothing from the heap. Callers see to it that no other thread
// runs the code being patched: at start there is none, and a library that is being
// loaded is not running yet.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "patch/plan.h"

// One loaded module, as the loader knows it.
struct ll_patch_target {
    uintptr_t bias;
    uintptr_t text_start; // executable segment, page-aligned
    uintptr_t text_end;
    const uint8_t* build_id;
    uint32_t build_id_length;
};

struct ll_patch_result {
    enum ll_plan_verdict verdict;
    uint32_t stores;  // in the module
    uint32_t applied; // now seen
    int refused;      // errno when the system forbade to change the text, else 0
    bool is_known;    // it was patched before
};

// Takes the room of a module that is to be patched for those of its trampolines that
// lie close together. Where modules get in each other's way, many of these would lose
// their place for one of the single trampolines of another: so all modules that are
// new take such room before the first of them is patched.
void ll_patch_reserve(const char* folder, const struct ll_patch_target* target);

// Patches one module by the plan in `folder`.
struct ll_patch_result ll_patch_module(const char* folder,
                                       const struct ll_patch_target* target);

// Between these two calls every module that is still loaded is patched again, which
// does nothing but count it as loaded; the others are forgotten and their trampolines
// unmapped, as their code is.
void ll_patch_begin_census(void);
void ll_patch_end_census(void);

// To be called once, before the process has a second thread.
void ll_patch_lock_clock(void);

// False when there may be a second thread.
bool ll_patch_can_be_undone(void);

// Writes the original code back everywhere and unmaps the trampolines. False, and
// nothing changed, when the system forbids it.
bool ll_patch_undo(void);

// The store whose trampoline wrote a place into a stamp; 0 when no patched module has
// one.
uintptr_t ll_patch_store_at(uint32_t place);

// Calls `visit` with each range of the module's code that must not change any more: a
// patched instruction, and the bytes behind it that its jump is made of.
void ll_patch_visit_fixed(uintptr_t text_start,
                          void (*visit)(uintptr_t start, uintptr_t end, void* context),
                          void* context);
