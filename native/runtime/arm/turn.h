// The turns in the life of a site that the thread which touches it takes itself.
#pragma once
#include "arm/record.h"

// The slow path of a stub: a burst begins or ends. Uses general registers only, takes
// no lock and makes no system call.
void ll_arm_turn(struct ll_arm_module* module, uint32_t site);
