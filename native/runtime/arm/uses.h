// A *use* is a way in which blocks were touched: a site together with the call stack it
// ran in, or a call that let the kernel touch them. Touch words hold its number.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arm/touch.h"

enum { LL_USES_BEFORE = 4 };

struct ll_use {
    uint32_t place; // of the site; 0: the kernel touched on behalf of a call
    uint32_t node;  // of the call stack; 0: only the site is known
    uint32_t next;  // use with the same hash; 0: none
    // Uses that were noted before it in its thread when it was noted anew, the most
    // recent first; 0 where there are no more.
    uint32_t before[LL_USES_BEFORE];
};

bool ll_uses_start(void);

// The number of a use, made when it is new; 0 when there is no room. Safe in any
// thread and signal handler.
uint32_t ll_use_number(uint32_t place, uint32_t node);

// A use is noted anew by the calling thread.
void ll_use_note(uint32_t number);

// NULL for 0.
const struct ll_use* ll_use_get(uint32_t number);
