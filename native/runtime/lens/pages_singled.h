// What of the range the kernel brings back page by page. Elsewhere a touch brings
// neighbours back, too, which then look touched.
#pragma once
#include <stdint.h>

#include "os/presence.h"

// For a new companion: nothing is singled out yet, since that ends with whoever asked.
void ll_singled_begin(void);

// For the companion: singles out parts of the range that are new, and all of it when it
// was mapped anew, which the kernel takes for new memory.
void ll_singled_update(struct ll_presence* presence);

// The same once the range is singled out at all, so that programs that end before the
// first scan take no part in it. Then sleeps, at the longest until the range is mapped
// anew.
void ll_singled_update_and_sleep(struct ll_presence* presence, uint64_t milliseconds);

// For the program, which has mapped the range anew: waits until the companion has done
// its part, or for some milliseconds.
void ll_singled_await(void);
