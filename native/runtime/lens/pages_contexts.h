// Which blocks lens `pages` keeps together: those of one *context*, the innermost
// frames of their allocation's stack. A context gets pages of its own once so many of
// its blocks live (pages_candidates.h); below that they lie in the common heap, since a
// page for each would be a waste.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Makes the tables and tells the heap, before the first allocation. Contexts take so
// many neighbouring pages at least. False without memory.
bool ll_page_contexts_start(unsigned depth, unsigned live_blocks, size_t least_pages);

// Sites have new numbers from now on.
void ll_page_contexts_forget_sites(void);
