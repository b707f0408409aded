// The pages around a module that its armed sites jump to.
#pragma once
#include <stdbool.h>

#include "arm/record.h"

// Maps the stubs of the module's plan and its gates, all or in part: `unmapped` tells
// which pages found no room. False when not even that can be kept.
bool ll_stubs_map(struct ll_arm_module* module);

void ll_stubs_unmap(struct ll_arm_module* module);

// True when all stubs of the site are in place.
bool ll_stubs_are_mapped(const struct ll_arm_module* module,
                         const struct ll_arm_site* site);

// Gives the memory back that the stubs of places from number `first` on take; those
// that run again come from their files.
void ll_stubs_let_go(uint32_t first);
