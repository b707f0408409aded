// How the scheduler changes code that others are running: by one write (arm/text.h)
// where the processor sees that as a whole, else in the order of the kernel's
// text-poke: a breakpoint in the first byte, then the others, then the first, with a
// synchronisation of all cores after each. Who runs into the breakpoint waits there.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arm/record.h"

// From now on changes are made in the order of text-poke. False when the system cannot
// synchronise cores. Again in a forked child.
bool ll_change_by_poking(void);

// Arms or disarms a site, at the latest when `ll_changes_finish` returns. Under the
// lock of the scheduler.
void ll_change_arm(const struct ll_arm_module* module, const struct ll_arm_site* site);
void ll_change_disarm(const struct ll_arm_module* module,
                      const struct ll_arm_site* site);
void ll_changes_finish(void);

// In the handler of SIGTRAP: true when the breakpoint at an address was one of these,
// and the code there is whole again.
bool ll_change_was_trap(uintptr_t address);
