// What the process takes up, as the kernel counts it.
#pragma once
#include <stdint.h>

// Its memory, with shared pages counted in part (Pss); 0 where the kernel does not
// tell.
uint64_t ll_footprint_bytes(void);
