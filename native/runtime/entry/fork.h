// Registration of what happens around fork.
#pragma once

void ll_fork_start(void);
