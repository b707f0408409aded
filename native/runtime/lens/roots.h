// Memory that counts as a root of the heap, as the program and its threads declare it.
// All functions may be called by any thread at any time, and a look may come while one
// of them is stopped in the middle: no locks.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Memory that counts as a root, and memory that no longer does.
void ll_roots_add(const void* start, size_t size_bytes);
void ll_roots_remove(const void* start, size_t size_bytes);

// Stacks of threads, so that the stack of a thread that has ended is no root although
// libc keeps it mapped for the next thread. Called by the thread itself. An app mapping
// over the range ends it.
void ll_roots_thread_stack_begin(uintptr_t start, uintptr_t end);
void ll_roots_thread_stack_end(uintptr_t start, uintptr_t end);
void ll_roots_mapped(uintptr_t start, uintptr_t end);

// What counts as a root besides the registered regions. Tests of the lens keep the
// memory of the test program itself out.
enum ll_roots_extent { LL_ROOTS_WHOLE_PROCESS, LL_ROOTS_REGISTERED };
void ll_roots_limit(enum ll_roots_extent extent);
enum ll_roots_extent ll_roots_extent(void);

// One range of the tables.
struct ll_root {
    uintptr_t start;
    uintptr_t end;
    // A stack's thread control block, 0 when it lies elsewhere; 0 for other memory.
    uintptr_t thread_pointer;
    bool ended; // the stack's thread is gone
};

typedef void ll_root_visitor(const struct ll_root* root, void* context);
void ll_roots_visit_regions(ll_root_visitor* visit, void* context);
void ll_roots_visit_stacks(ll_root_visitor* visit, void* context);

// The registered stack that contains `address`.
bool ll_roots_stack_at(uintptr_t address, struct ll_root* stack);
