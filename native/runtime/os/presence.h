// Which pages of a range the page table leads to. A page of shared memory that was
// taken out of it comes back when anybody touches it, the kernel included, with no
// signal and no handler; asking afterwards tells that it was touched.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/faults.h"

struct ll_presence {
    int pagemap;             // /proc/self/pagemap; -1: not open
    bool can_scan;           // the kernel lists present pages (6.7 and later)
    struct ll_faults faults; // keeps neighbours of a touched page out
};

// False when the kernel does not tell. The descriptors are the caller's own.
bool ll_presence_open(struct ll_presence* presence);
void ll_presence_close(struct ll_presence* presence);

// From now on a touch brings back one page of the range, and not its neighbours too.
// False when the kernel cannot; what comes back is then a group of pages.
bool ll_presence_single_out(struct ll_presence* presence, uintptr_t start,
                            size_t size_bytes);

// Calls `visit` with each run of present pages of [start, end). Pages that are on their
// way to another place or to swap count as present. False when the kernel refused;
// nothing is known then.
typedef void ll_presence_visitor(uintptr_t start, uintptr_t end, void* context);
bool ll_presence_visit(const struct ll_presence* presence, uintptr_t start,
                       uintptr_t end, ll_presence_visitor* visit, void* context);

// Takes pages out of the page table; their contents stay in the file behind them.
// False when the system refuses, as it does for memory that is locked.
bool ll_presence_drop(uintptr_t start, size_t size_bytes);

// Which pages of a range the file has memory for; one byte each, 0: none, so that
// nobody has ever touched them. False when the system does not tell.
bool ll_presence_in_file(uintptr_t start, size_t size_bytes, uint8_t* answers);

// Tries all of it on pages of its own. `touch_ns` is what one touch costs.
enum ll_presence_verdict {
    LL_PRESENCE_EXACT,  // a touch shows on its page and on no other
    LL_PRESENCE_COARSE, // a touch shows on its neighbours too
    LL_PRESENCE_NONE,   // touches do not show
};
enum ll_presence_verdict ll_presence_try(uint64_t* touch_ns);
