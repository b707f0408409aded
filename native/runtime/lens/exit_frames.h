// Frames that the end of a program puts on the stack: ours, the loader's and libc's.
// They hold remains of older frames, which would keep lost blocks alive.
#pragma once
#include <stdbool.h>

#include "os/world.h"

// Fills `caller` with what is known of the function that called exit (or of the
// program's start when main returned): stack pointer and callee-saved registers, the
// others 0; `pc` is a return address. False when the frames between could not all be
// unwound.
bool ll_exit_caller(const struct ll_registers* self, struct ll_registers* caller);
