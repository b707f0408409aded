// The start of a second run for `--refine`.
#pragma once
#include <stdbool.h>

// Counts allocations if the run may be refined, and watches blocks if it is the second.
// Call it once losses are stamped. False when the run is the second one: no code is
// patched then, since traps need it as it is.
bool ll_refining_start(void);
