// The turns in the life of a site that the thread which touches it takes itself.
#pragma once
#include "arm/record.h"

// The slow path of a stub: a burst begins or ends, or the site touches a block for
// another caller. Leaves vector registers as they are and takes no lock.
void ll_arm_turn(struct ll_arm_module* module, uint32_t site, uintptr_t sp,
                 uintptr_t rbp, uintptr_t address);
