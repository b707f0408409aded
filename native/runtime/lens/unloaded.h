// References that vanish with a library: its variables are noted before the loader
// unmaps anything, and stamped once it is known which libraries are gone. The loader's
// lock is held all the time.
#pragma once
#include <stdint.h>

// Notes what the variables between `start` and `end` refer to, of the library with a
// load bias.
void ll_unloaded_note(uintptr_t bias, uintptr_t start, uintptr_t end);

// A library is still there.
void ll_unloaded_keep(uintptr_t bias);

// Stamps what the variables of all others referred to, and forgets all notes. `site` is
// the call stack that unloads.
void ll_unloaded_stamp(uint32_t site);
