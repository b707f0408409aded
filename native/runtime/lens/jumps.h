// Jumps out of frames that never return: what only they held is lost there.
#pragma once
#include <stdint.h>

// A jump is about to leave the frames from `start` to `end` on the calling thread's
// stack; `start` may lie in the frame of whoever calls, which saved registers there.
// `node` is the call stack that jumps. A word in a frame need not be a variable: what a
// variable of one of these functions was seen to lose keeps that place.
void ll_jump_over(uintptr_t start, uintptr_t end, uint32_t node);
