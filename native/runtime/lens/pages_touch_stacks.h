// The call stack of a thread that waits in a page fault.
#pragma once
#include <stdint.h>

// For the assistant: the node, 0 when it is not known.
uint32_t ll_touch_stack_of(int tid);

// In the thread itself, in the handler of the signal that the above sends.
void ll_touch_stack_answer(uint32_t question, const void* signal_context);
