// Turns lens `accesses` on for this process, where an option asks for it.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Called once from the first constructor, while there is one thread.
void ll_arming_start(void);

// In the handler of SIGTRAP: true when code was being changed there, which is over.
bool ll_arming_trapped(void* signal_context);

// The program wants SIGTRAP for itself: where code is changed with breakpoints, it is
// changed no more.
void ll_arming_give_up_traps(void);

// The program makes code of its own, which nobody can arm.
void ll_arming_code_is_made(void);

// The program is about to change what is mapped somewhere, perhaps code.
void ll_arming_code_is_changed(const void* start, size_t size_bytes);

// Samples no more, so that patches can be undone; no other thread runs.
void ll_arming_end(void);

// The loader is about to change the list of modules, or has changed it.
void ll_arming_modules_change(void);
