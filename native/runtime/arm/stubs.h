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

// The stub of a place has run and is not needed for a while. Its page is given back by
// the next call of `ll_stubs_give_back`; when it runs again it comes from its file.
// Both for holders of the scheduler's lock.
void ll_stub_let_go(const struct ll_arm_place* place);
void ll_stubs_give_back(void);
