// Shelves: pages of the heap's file on which several pages of the range lie at once,
// none of which uses bytes that another one uses. A page on a shelf is *merged*; its
// own place in the file is empty. Addresses stay as they are, memory is saved.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_GRANULE = 16, LL_GRANULES = 256, LL_SHELF_PAGES = 8 };

// Which bytes of a page are in use: a bit for each 16 of them.
struct ll_granules {
    uint64_t bits[LL_GRANULES / 64];
};

bool ll_granules_overlap(const struct ll_granules* one,
                         const struct ll_granules* other);
unsigned ll_granules_count(const struct ll_granules* granules);

struct ll_shelf {
    uint32_t pages[LL_SHELF_PAGES]; // numbers of pages of the range
    uint32_t count;                 // of them; 0: out of use
    uint32_t class;                 // size class of all blocks on it
    struct ll_granules used; // by some page when it came; blocks may be gone since
};

// Takes address space for the tables. False when there is none. Before that, and when
// it fails, no page is ever merged.
bool ll_shelves_start(void);

// How many pages may be merged, so that mappings do not run out.
size_t ll_shelves_budget(void);

// The next two change mappings; the caller sees to it that nobody uses the pages and
// that nobody else is in here.

// Puts a page, of which `used` is in use, onto a shelf, or, with shelf number 0, onto
// a new one. Returns the shelf's number; 0 when that failed, and nothing changed then.
uint32_t ll_shelves_join(uint32_t shelf, uintptr_t page, uint32_t class,
                         const struct ll_granules* used);

// Puts the merged pages of a part of the range back to their own places, where they
// read as zeros. False when the system refused for some of them.
bool ll_shelves_part(uintptr_t start, size_t size_bytes);

// After the range was mapped anew without shelves.
void ll_shelves_forget(void);

bool ll_shelves_is_merged(uintptr_t address);

// A shelf; NULL from the first number on that was never used. Numbers start at 1.
const struct ll_shelf* ll_shelves_get(uint32_t number);

// Where the contents of a page lie in the file.
size_t ll_shelves_place(uintptr_t page);

// The end of the longest piece from `start` on that lies at consecutive places.
uintptr_t ll_shelves_piece_end(uintptr_t start, uintptr_t end);

struct ll_shelves_totals {
    size_t merged_pages;
    size_t shelves; // that they lie on
};
struct ll_shelves_totals ll_shelves_totals(void);
