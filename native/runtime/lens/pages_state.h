// What the parts of lens `pages` share.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "lens/pages_watch.h"
#include "os/lock.h"

struct ll_pages_lens {
    uint32_t state;      // LL_TRACKING_*, 0: the lens is off
    bool is_coarse;      // a touch brings neighbours back, too
    struct ll_lock lock; // whoever changes the watch; the companion may die with it
    struct ll_watch watch;
    int looker;        // thread that looks at the stopped world; 0: none
    uint64_t now_ms;   // processor time of the look under way
    const char* ended; // why the watch ended: a sentence, or NULL
};
extern struct ll_pages_lens ll_pages;

// Takes the lock; a companion that is no more does not keep it.
void ll_pages_lock(void);
void ll_pages_unlock(void);

// Ends the watch for good. The lock is held.
void ll_pages_end(const char* sentence);

// The task of the companion.
void ll_pages_keep_watch(void);

// Processor time of the watched process so far; for the companion, and for the process
// itself.
uint64_t ll_pages_cpu_ns(void);
uint64_t ll_pages_own_cpu_ns(void);

// Finds out which watched pages were touched. False when that ended the watch: the
// kernel does not tell, or memory may be touched unseen. Asynchronous I/O is looked for
// each time, since a buffer in use while its page is taken out is written to later.
bool ll_pages_scan(const struct ll_presence* presence, ll_watch_clock* clock);

// The same in the process itself, whose descriptors are not the companion's.
bool ll_pages_scan_here(void);
