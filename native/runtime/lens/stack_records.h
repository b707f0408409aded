// Writes call stacks into the recording: the nodes on a stack's path and the modules
// they lie in, each once per process and before it is first used.
#pragma once
#include <stdint.h>

void ll_stack_records_write(uint32_t node);
