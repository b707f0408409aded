// Code sleeps until it is entered: only then are the stubs of its unit mapped, and its
// sites armed. Most code of a program never runs.
#pragma once
#include "arm/record.h"

// Wakes the unit of a part, or finds it awake. In the thread that enters it: leaves
// vector registers as they are and calls nothing of libc.
void ll_wake_part(struct ll_arm_module* module, uint32_t part);

// Wakes the units that could be entered unnoticed, and counts what cannot be armed.
void ll_wake_eager(struct ll_arm_module* module);

// Around fork, in the forking thread, which takes no signals: nobody else wakes a unit
// meanwhile.
void ll_wake_hold(void);
void ll_wake_let_go(void);
void ll_wake_fork_child(void);

// As `ll_wake_hold`, for a moment. False when somebody wakes a unit.
bool ll_wake_try_hold(void);

// Units that are entered from now on run unarmed: the process permits no system calls
// that waking needs.
void ll_wake_end(void);

// Puts all entries of a module back, while no other thread runs.
void ll_wake_forget_entries(struct ll_arm_module* module);
