// What a stub calls, through its module's gate. Not a C function: on entry rax holds
// the touched address and rcx the module; the stack holds rcx, the return address into
// the stub, and the number of the site, which are all taken away. Changes rax alone,
// and no flag.
#pragma once

void ll_arm_note(void);
