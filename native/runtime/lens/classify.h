// Sorts the blocks after the mark from the roots into reachable, lost and indirectly
// lost, and counts them by allocation stack.
#pragma once
#include "lens/mark.h"
#include "lens/tally.h"

// Marks of the blocks between the steps of a look.
enum {
    LL_MARK_UNREACHED, // nothing is known to lead here
    LL_MARK_REACHED,   // a root leads here, or the block is counted already
    LL_MARK_POINTED,   // unreached, and another unreached block points here
    LL_MARK_CIRCLED,   // the same, and it was met from a ring
};

struct ll_classified {
    uint64_t lost_blocks;
    // Rings of lost blocks whose order could not be kept for want of memory: some that
    // another ring leads to may count as lost and not as indirectly lost.
    uint64_t unordered_rings;
};

// Expects each live block to bear the mark UNREACHED or REACHED; leaves all REACHED.
struct ll_classified ll_classify(struct ll_marker* marker, struct ll_tally* tally);
