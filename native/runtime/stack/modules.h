// The program and libraries in which code of captured stacks lies, also after they were
// unloaded. Ids count from 1 and are never used again.
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool ll_modules_start(void);

// Code at `address` was met for the first time: registers its module. Waits for nobody:
// false when another thread is registering, and the caller has to come again.
bool ll_module_note(uintptr_t address);

// Registered modules that are no longer loaded are marked so, and their nodes retired.
// True when there were any.
bool ll_modules_drop_unloaded(void);

// The forking thread was the only one to survive.
void ll_modules_fork_child(void);
