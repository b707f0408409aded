// Breakpoints at the points of a watch list. A point that is hit steps over its own
// instruction: the byte goes back, the processor's trap flag ends the step behind it,
// and the breakpoint returns. Bytes are written through /proc/self/mem, so that code
// stays unwritable.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "process/watch_list.h"

// Whether the code is as its file has it. Points where it is not are left out when
// stores are patched; in other code they mean that it is another program's.
enum ll_traps_code { LL_TRAPS_ORIGINAL_CODE, LL_TRAPS_PATCHED_CODE };

// Takes the points of modules that are loaded: biases[i] is that of module i, or
// LL_TRAPS_NOT_LOADED. False when code cannot be written, or another program's bytes
// are there.
#define LL_TRAPS_NOT_LOADED ((uintptr_t)-1)
bool ll_traps_start(const struct ll_watch_list* list, const uintptr_t* biases,
                    enum ll_traps_code code);

// Sets or takes away the breakpoints of a function; others of the same function stay
// as they are until all who set them have taken them away.
void ll_traps_set(uint32_t function);
void ll_traps_take(uint32_t function);

// The same for one point of a function, by its number in the list.
void ll_traps_set_point(uint32_t point);
void ll_traps_take_point(uint32_t point);

// Takes all away for good, as in a child.
void ll_traps_end(void);

// The point at an address; NULL if there is none.
const struct ll_watch_point* ll_traps_point_at(uintptr_t address);

// In the handler of SIGTRAP. True when the trap ended a step of ours, with nothing more
// to do.
bool ll_traps_end_step(void* signal_context);

// Lets the interrupted thread step over the point it hit. Points that are hit very
// often are given up, except returns, and later those that were set by themselves.
void ll_traps_step(const struct ll_watch_point* point, void* signal_context);
