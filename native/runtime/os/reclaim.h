// Memory that the kernel takes away. A page that was touched and then reclaimed looks
// as if nobody had touched it, so whoever relies on the page table has to know.
#pragma once
#include <stdint.h>

// A number that changes whenever the system has reclaimed memory of the kind that the
// heap is made of. Constant while there is no swap, without which there is no such
// reclaim.
uint64_t ll_reclaim_count(void);
