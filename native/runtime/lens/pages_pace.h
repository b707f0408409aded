// How much the watch may cost the program: how many pages are watched, and how fast
// they come to be.
#pragma once
#include "lens/pages_watch.h"

// Sets the number of pages to be watched by what the touches since the last time cost:
// more below 0.5 % of the processor time, fewer above 1.5 %.
void ll_pace_adapt(struct ll_watch* watch, uint64_t touches, uint64_t elapsed_ns);

// How many pages may be taken out now, so that the touches that are likely to follow
// take 1 % of the program's time, and taking them out no more than that of ours.
uint64_t ll_pace_allowance(const struct ll_watch* watch, uint64_t elapsed_ns);

// So many pages were taken out, which took so long.
void ll_pace_note_taken(struct ll_watch* watch, uint64_t pages, uint64_t spent_ns);
