// Where span headers and the words of their blocks come from, and where they wait when
// out of use. Callers hold the lock of the units.
#pragma once
#include "heap/span.h"

bool ll_headers_start(void);

// A header for a small span, with its words all 0, or for a free run or a large block
// (which has its one word in the header). NULL when memory ran out.
struct ll_span* ll_header_take_small(unsigned class);
struct ll_span* ll_header_take_bare(void);

// Comes before the span's units are given back: they need a header then, and when
// memory has run out it is this one.
void ll_header_give(struct ll_span* span);

// Gives the words of headers out of use back to the system.
void ll_headers_purge(void);

// Blocks that spans no longer in use have handed out, for the totals.
uint64_t ll_headers_past_allocations(void);
