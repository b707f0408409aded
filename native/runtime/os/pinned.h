// Memory that devices or kernel threads read and write without the page table.
#pragma once
#include <stdbool.h>

// True when the process has set up asynchronous I/O (io_uring, AIO) or remote direct
// memory access, whose buffers are touched unseen, and when the system does not tell.
bool ll_pinned_io_may_be_set_up(void);
