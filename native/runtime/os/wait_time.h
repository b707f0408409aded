// The time limits of waits that are made again after a stop. Where the kernel does not
// say how much of a limit is left, it is kept here: a wait of ten seconds must end
// although a look interrupts it every second.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

// Prepares the registers for making the interrupted call again. False when its time
// is up: the registers then hold what the call returns in that case. When a wait began
// is not known, so it lasts longer by what passed before its first interruption.
bool ll_wait_goes_on(long number, greg_t* registers, int64_t now_ms);
