// Arms and disarms sites at random and gives pages of their stubs back, as fast as it
// can, while the program runs: what must not be noticed by it. For tests.
#pragma once

// One round under the lock of the scheduler.
void ll_stress_round(void);
