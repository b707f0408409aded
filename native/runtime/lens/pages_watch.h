// The watch over the heap's pages: which are out of the page table, since when, and how
// many of them the program can bear to touch.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/presence.h"

struct ll_watch {
    uint64_t touch_ns; // measured cost of one touch
    uint64_t drop_ns;  // of taking one page out, as measured of late
    uint64_t scan_ns;  // processor time of all scans and of what they took out
    uint64_t scans;
    uint64_t touches; // of watched pages, as far as scans saw them, and births there
    uint64_t births;  // of these
    uint64_t watched_pages; // now
    uint64_t target_pages;  // to be watched
    uint64_t hand;          // page where the next search begins
    uint64_t last_cpu_ns;   // processor time at the last scan
    // Pages taken out, and touched, of which older ones count less.
    uint64_t taken_of_late;
    uint64_t touched_of_late;

    // Changes when the system has reclaimed memory; NULL: it never does. What it gave
    // before the last scan.
    uint64_t (*reclaimed)(void);
    uint64_t last_reclaimed;
    bool has_begun_anew; // all bounds, since memory was reclaimed
};

// Tells the processor time of the program.
typedef uint64_t ll_watch_clock(void);

// Ends the watch over pages that were touched. When memory may have been reclaimed
// since the last scan began, a page that is out may have been in: all bounds begin
// anew. False when the kernel does not tell: the watch over all pages ends then.
bool ll_watch_scan(struct ll_watch* watch, const struct ll_presence* presence,
                   ll_watch_clock* clock);

// Whether a page is watched and nobody has touched it up to now; if somebody has, its
// watch ends. For a stopped world.
bool ll_watch_is_untouched(struct ll_watch* watch, const struct ll_presence* presence,
                           uintptr_t page);

// Takes pages out of the page table until there are as many as there should be, or so
// many more than before.
void ll_watch_extend(struct ll_watch* watch, uint64_t most_pages,
                     ll_watch_clock* clock);

// Takes all watched pages out again that were touched by ourselves. For a stopped
// world.
void ll_watch_drop_again(void);

// Ends the watch over all pages.
void ll_watch_end(struct ll_watch* watch);
