// Making and dissolving spans of small blocks: their units and their header together.
// Under the lock of the units.
#pragma once
#include "heap/span.h"

// A span of the class that nobody owns and no unit leads to yet; NULL when memory ran
// out.
struct ll_span* ll_small_span_make(unsigned class);

// Gives the units and the header of a span back that has no block.
void ll_small_span_dissolve(struct ll_span* span);
