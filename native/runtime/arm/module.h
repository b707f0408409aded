// Arms the modules of the process by their plans. Callers see to it that no two threads
// are here at once.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arm/record.h"
#include "patch/patch.h"

struct ll_arm_result {
    enum ll_plan_verdict verdict;
    uint32_t sites;   // in the module
    uint32_t armable; // of them, as far as is known before they run
    int refused;      // errno when the system forbade to change the text, else 0
    bool is_known;    // it was armed before
};

// Prepares a module so that its sites are armed when their code is entered; where that
// cannot be noticed, arms them.
struct ll_arm_result ll_arm_module(const char* folder,
                                   const struct ll_patch_target* target,
                                   uintptr_t twin_distance);

// As ll_patch_begin_census: modules not seen in between are forgotten.
void ll_arm_begin_census(void);
void ll_arm_end_census(void);

// Gives the memory back that the tables of plans take; what is read of them again comes
// from their files.
void ll_arm_let_tables_go(void);

// Gives back pages of code that were brought in together with others and hardly ever
// run. For holders of the scheduler's lock, in a thread that takes no signals.
void ll_arm_let_text_go(void);

// From now on pages in [start, end) are not given back, as soon as the scheduler's lock
// was free. False when no code lies there.
bool ll_arm_leave_text(uintptr_t start, uintptr_t end);

// How many more sites found no room for their stubs since the last time it was asked,
// or since their module was armed. For a stopped world.
uint32_t ll_arm_tell_unfit(void);

// Disarms all sites, while no other thread runs and the scheduler has ended.
void ll_arm_disarm_all(void);

// Calls `visit` with every module that is loaded.
void ll_arm_visit_modules(void (*visit)(struct ll_arm_module* module, void* context),
                          void* context);
