// Which pages of a mapping have memory behind them, so that a huge sparse mapping costs
// nothing to search.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_RESIDENCE_WINDOW = 512 };

enum ll_residence_source {
    // /proc/self/pagemap: pages this process has written, in memory or swapped out.
    LL_RESIDENCE_PAGEMAP,
    // mincore: pages in memory, the file's own included. For shared memory, whose pages
    // may be missing in a forked copy's page table, and where pagemap cannot be opened.
    LL_RESIDENCE_MINCORE,
    // Every page: pagemap cannot be opened and some pages are swapped out.
    LL_RESIDENCE_ALL,
};

struct ll_residence {
    int pagemap;                             // descriptor, or negative
    enum ll_residence_source private_source; // how to ask about private mappings
    // What is known of the pages from `window` on.
    uintptr_t window;
    size_t window_pages;
    enum ll_residence_source window_source;
    bool resident[LL_RESIDENCE_WINDOW];
};

void ll_residence_open(struct ll_residence* residence);
void ll_residence_close(struct ll_residence* residence);

// Finds the first run of pages with memory behind them in [start, end), both multiples
// of the page size. False when there is none.
bool ll_residence_next(struct ll_residence* residence, enum ll_residence_source source,
                       uintptr_t start, uintptr_t end, uintptr_t* run_start,
                       uintptr_t* run_end);

// The first page with memory behind it in [start, end), or `end`.
uintptr_t ll_residence_first(struct ll_residence* residence,
                             enum ll_residence_source source, uintptr_t start,
                             uintptr_t end);
