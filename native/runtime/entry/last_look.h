// The last look at a process, with what the program itself says about leaks.
#pragma once
#include "process/process.h"

// Writes down the program's own suppressions and looks, unless the program carries
// __lsan_is_turned_off and it says so.
void ll_last_look(const struct ll_occasion* occasion);
