// Turns the lenses that change code on for this process, where an option asks for them:
// `loss` and `accesses`.
#pragma once
#include <stdint.h>

#include "base/attributes.h"

// The call stack of the thread's dlclose, 0 outside of it: what unloading loses is lost
// there.
extern LL_THREAD_LOCAL uint32_t ll_unloading_site;

// Called once from the first constructor, while there is one thread.
void ll_patching_start(void);

// Gives back the address space that lens `loss` takes, and ends it for this process,
// if that can be done while the program runs.
void ll_patching_end(void);
