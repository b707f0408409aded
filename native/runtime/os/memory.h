// Address space and pages from the system. Everything is page-granular and zeroed, and
// nothing here depends on the heap. The runtime's own tables all lie in one range that
// starts at a 1 TiB boundary: the *own range*. Address space in it is given out by a
// cursor and mapped only when committed, so that a limit on address space (ulimit -v)
// bears on the program as it would without us.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_PAGE_SHIFT = 12, LL_PAGE_SIZE = 1 << LL_PAGE_SHIFT, LL_RANGE_SHIFT = 40 };

// Commits `first_bytes` at the start of a range for the heap, at a 1 TiB boundary that
// nobody uses. NULL when there is none.
void* ll_memory_start_range(size_t first_bytes);

// Address space without memory behind it: nothing may touch it before ll_memory_commit.
// At `wanted` exactly, or anywhere in the own range for NULL. NULL when that is used
// up.
void* ll_memory_reserve(void* wanted, size_t size_bytes);

// Makes pages of a reservation readable and writable; those already committed keep what
// they hold, and new ones appear when touched. False when the system refuses, or when
// others have mapped something there; then nothing is committed.
bool ll_memory_commit(void* start, size_t size_bytes);

// Gives the pages back to the system; the range stays usable and reads as zeros. False,
// and nothing changed for certain, when the system refuses, as it does for pages that
// the program has locked in memory.
bool ll_memory_purge(void* start, size_t size_bytes);

// Moves pages without copying them: `to`, which is committed, gets what `from` held,
// and `from` reads as zeros. False, and nothing moved, when the kernel cannot.
bool ll_memory_move(void* from, void* to, size_t size_bytes);

// Readable and writable pages for the runtime's own tables; NULL when there are none.
void* ll_memory_map(size_t size_bytes);

// The same for a table of which little is ever touched, however large it is.
void* ll_memory_map_sparse(size_t size_bytes);

// Asks for huge pages in a range that will be filled densely: whoever follows pointers
// all over it is otherwise bound by page walks.
void ll_memory_prefer_huge(void* start, size_t size_bytes);

// Ends a range that came from ll_memory_map or ll_memory_reserve.
void ll_memory_unmap(void* start, size_t size_bytes);

// Takes exactly this range for a table that code addresses directly; pages appear when
// touched. Once per process. False when any of it is in use, or under a limit.
bool ll_memory_claim(uintptr_t start, size_t size_bytes);

// True for addresses of the runtime's own tables (all of the above except the heap's
// blocks): never a root, never reported.
bool ll_memory_is_own(uintptr_t address);

// The end of the own range when `address` lies in it, else 0.
uintptr_t ll_memory_own_end(uintptr_t address);
