// Lens `pages`: memory that nobody uses. Pages of the heap are taken out of the page
// table one after the other; what is still out at a look has not been touched since. So
// every block has a lower bound of how long it has been idle, in processor time of the
// program, and the bound is never too high.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "heap/inspect.h"

// Puts a file behind the heap and keeps blocks apart by context; before the heap's
// start. False when the system cannot tell touches, and nothing changed then.
bool ll_pages_prepare(void);

// Begins to watch, in a companion process.
void ll_pages_start(void);

// Around a look at a stopped world: brings what is known of each page up to date and
// keeps it so until the watch goes on. A lens that read blocks meanwhile has touched
// them: `ll_pages_resume` takes their pages out again before the program runs.
void ll_pages_settle(void);
void ll_pages_resume(void);

// Between the two: writes what is known of all blocks.
void ll_pages_write(void);

// Between the two: for how long the block was idle at least. False when that is not
// known.
bool ll_pages_idle_ns(struct ll_block block, uint64_t* lower_ns);

// The value of a stop signal by which the companion asks for ll_pages_merge.
#define LL_PAGES_MERGE_REQUEST (0x4c4c5350ULL << 32)

// Saves memory by merging pages, as the companion proposed. `is_still` tells whether
// all threads are stopped for certain; nothing happens if not.
void ll_pages_merge(bool is_still);

// Around fork, under the look lock and outside the heap's locks. Parent and child never
// share the heap: the child gets it as it was and is not watched; the parent goes on
// with a copy, or, when that would take long, is watched no more.
void ll_pages_fork_prepare(void);
void ll_pages_fork_parent(void);
void ll_pages_fork_child(void);

// Before a fork that nobody will tell us the end of: neither side is watched any more.
void ll_pages_unknown_fork(void);

// Before the process limits its own system calls: the watch needs more of them than it
// may be left with.
void ll_pages_sandboxed(void);

// Before the process waits for children of every kind, the companion among them: it is
// watched no more.
void ll_pages_waits_for_all(void);

// Before this process becomes another program, and when it did not.
void ll_pages_suspend(void);
void ll_pages_go_on(void);
