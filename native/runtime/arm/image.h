// The armed text of a module: pages of its plan that are mapped over its own. Processes
// share them, and only a page in which a site is disarmed becomes a copy of their own.
#pragma once
#include <stdbool.h>

#include "arm/record.h"
#include "patch/patch.h"

// Arms all sites of a module whose stubs are mapped and notes which others are unfit.
// False, and nothing is changed, when the plan has no such text, when the loaded text
// is another one than it was made for, or when the system forbids it.
bool ll_image_arm(struct ll_arm_module* module, const struct ll_patch_target* target);
