// Address space and pages from the system. Everything is page-granular and zeroed, and
// nothing here depends on the heap.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_PAGE_SIZE = 4096 };

// Address space without memory behind it: nothing may touch it before ll_memory_commit.
// At `wanted` exactly, or anywhere for NULL. NULL when the system refuses, as it does
// under a limit on address space: the caller then asks for less.
void* ll_memory_reserve(void* wanted, size_t size_bytes);

// Makes a part of a reservation readable and writable; pages appear when touched.
bool ll_memory_commit(void* start, size_t size_bytes);

// Gives the pages back to the system; the range stays usable and reads as zeros.
void ll_memory_purge(void* start, size_t size_bytes);

// Readable and writable pages for the runtime's own tables; NULL when there are none.
void* ll_memory_map(size_t size_bytes);

// Ends a range that came from ll_memory_map or ll_memory_reserve.
void ll_memory_unmap(void* start, size_t size_bytes);

// True for addresses of the runtime's own tables (reservations and maps made through
// this file, except the heap's blocks): never a root, never reported.
bool ll_memory_is_own(uintptr_t address);
