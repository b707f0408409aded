// What the entry of a part that was not entered yet leads to.
#pragma once

// Jumped to by the gate for entries, with the module's record in rcx: has the part
// armed and returns to its stub, with all registers and flags as they were.
void ll_arm_enter(void);
