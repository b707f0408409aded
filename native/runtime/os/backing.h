// Shared memory behind the heap's range: a file without a name (memfd), mapped at the
// offset of each address in the range. A page can then leave the page table without
// losing its contents, which is how lens `pages` notices a touch. A *frozen* range is a
// private view of the file: what is written from then on belongs to this process alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes the file. False when the system refuses, or when it could not promise the
// memory to begin with; the range is anonymous memory then.
bool ll_backing_start(void);

// True while pages of the range may be taken out of the page table.
bool ll_backing_is_shared(void);

// True from ll_backing_start on: the functions below serve the range.
bool ll_backing_is_on(void);

// Maps part of the range where nothing is mapped: the address, or a negative errno.
long ll_backing_map(uintptr_t start, size_t size_bytes);

// Frees the pages, which read as zeros from then on; false when the system refuses.
bool ll_backing_purge(uintptr_t start, size_t size_bytes);

// Makes the mapped part of the range private. False when that failed.
bool ll_backing_freeze(uintptr_t start, size_t size_bytes);

// Moves a frozen range to a file of its own with the same contents and shares it again;
// a forked child keeps the old file to itself. Nobody may write meanwhile. False, and
// nothing changed, when memory or descriptors ran out.
bool ll_backing_renew(uintptr_t start, size_t size_bytes);

// Maps one page of the range at a place of the file. False when the system refuses.
bool ll_backing_map_page(uintptr_t page, size_t place);

// Read and write the file at a place, by no mapping. False when that failed.
bool ll_backing_read(size_t place, void* to, size_t size_bytes);
bool ll_backing_write(size_t place, const void* from, size_t size_bytes);

// Gives the memory behind a place back, unless a private view may still need it.
void ll_backing_empty(size_t place, size_t size_bytes);

// How often part of the range was mapped anew, which the kernel takes for new memory:
// what was asked of it for the old one is forgotten.
uint32_t ll_backing_mappings(void);

// Sleeps; not for longer than that count is the one that is known, when it was
// ll_backing_renew that changed it.
void ll_backing_await_mapping(uint32_t known, uint64_t milliseconds);

// Bytes of memory that the file takes up.
uint64_t ll_backing_bytes(void);
