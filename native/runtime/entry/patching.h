// Turns the lenses that change code on for this process, where an option asks for them:
// `loss` and `accesses`.
#pragma once

// Called once from the first constructor, while there is one thread.
void ll_patching_start(void);

// Gives back the address space that lens `loss` takes, and ends it for this process,
// if that can be done while the program runs.
void ll_patching_end(void);
