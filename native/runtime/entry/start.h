// Parts of the start that are not the constructor's own.
#pragma once

// Takes our traces out of the environment that programs started from here inherit.
void ll_environment_leave(char** environment);
