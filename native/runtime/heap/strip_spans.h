// Spans that are lent out in strips, and the free strips of each class. A span is given
// back to the units with its last strip. Under the lock of strips.
#pragma once
#include "heap/strips.h"

// A free strip of the class, of a new span if need be; NULL when memory ran out.
struct ll_strip* ll_strip_lend(unsigned class);

// An empty strip comes back, unless it has to stay with its cursor.
void ll_strip_give_back(struct ll_strip* strip, struct ll_span* span);
