// The life of the watched process: what the runtime knows about it and the one way to
// look at its heap. Entry functions call these.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/world.h"

// Starts the runtime once, whoever comes first: the loader's constructor, or malloc
// called before it. Reads the options, takes the heap, writes `process_start`.
void ll_process_start(void);

// True when this process is to be looked at (an option names a recording, and it is not
// a copy that shares memory with its parent, as after vfork).
bool ll_process_is_watched(void);

// Stops the world, looks through the lenses, writes the snapshot, lets the world go on.
// `self` holds the calling thread's registers on entry to the runtime. Final looks
// (exit, signal, exec) happen once; what comes later is ignored.
void ll_process_look(uint32_t trigger, uint32_t signal,
                     const struct ll_registers* self);

// Fills `registers` with the caller's: the callee-saved ones, rsp and pc are exact.
void ll_registers_here(struct ll_registers* registers);
