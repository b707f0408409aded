// Turns lens `accesses` on for this process, where an option asks for it.
#pragma once

// Called once from the first constructor, while there is one thread.
void ll_arming_start(void);

// The loader is about to change the list of modules, or has changed it.
void ll_arming_modules_change(void);
