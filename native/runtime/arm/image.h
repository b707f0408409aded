// The text of a module with its entries: pages of its plan that are mapped over its
// own. Processes share them, and only a page in which code is woken becomes a copy of
// their own.
#pragma once
#include <stdbool.h>

#include "arm/record.h"
#include "patch/patch.h"

// Puts the entries of a module in place, whose stubs are mapped. False, and nothing is
// changed, when the plan has no such text, when the loaded text is another one than it
// was made for, or when the system forbids it.
bool ll_image_put(const struct ll_arm_module* module,
                  const struct ll_patch_target* target);
