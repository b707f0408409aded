// Virtual compaction: pages that nobody has used for long and that are mostly free are
// put onto one page of memory, where their blocks do not overlap. The companion looks
// for such pages and asks the process to merge them, which it does while it is stopped.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/presence.h"

struct ll_merging {
    bool is_on;
    uint64_t passes;
    uint64_t emptied_pages; // so far: without a block, given back
    uint64_t stopped_ns;    // time that the program was stopped for it
    uint64_t longest_ns;    // of one stop
};
extern struct ll_merging ll_merging;

void ll_merging_start(void);

// In the companion, after a scan: looks for pages worth merging. True when the process
// should be asked to do it.
bool ll_merging_is_worth_it(uint64_t now_ms, uint64_t cpu_ns);

// In the process, while it is stopped for certain: merges what was found.
void ll_merging_do(const struct ll_presence* presence);

// What was found has been dealt with; the companion may look for more.
void ll_merging_forget(void);
