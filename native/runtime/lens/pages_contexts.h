// Which blocks lens `pages` keeps together: those of one *context*, the innermost
// frames of their allocation's stack. A context gets spans of its own once so many of
// its blocks live (pages_candidates.h); below that they lie in the common heap, since a
// page for each would be a waste.
#pragma once
#include <stdbool.h>

// Makes the tables and tells the heap. Before the first allocation. False without
// memory.
bool ll_page_contexts_start(unsigned depth, unsigned live_blocks);

// Sites have new numbers from now on.
void ll_page_contexts_forget_sites(void);
