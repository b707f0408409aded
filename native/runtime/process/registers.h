// A call on another stack.
#pragma once

// Calls function(argument) with the stack pointer at `stack_top`, a multiple of 16.
void ll_call_on_stack(void (*function)(void*), void* argument, void* stack_top);
