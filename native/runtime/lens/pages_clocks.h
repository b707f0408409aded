// Clocks beside the processor time by which lens `pages` counts: wall time, and how
// many blocks the program has allocated. The companion reads them now and then, so that
// a report can tell what passed on each since a moment of processor time.
#pragma once
#include <stdint.h>

// Reads the clocks, unless it did so a moment ago. In the companion.
void ll_page_clocks_read(uint64_t cpu_ms);

// Writes all readings and that of the look, at `now_ms` of processor time.
void ll_page_clocks_write(uint64_t now_ms);
