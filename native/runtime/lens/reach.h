// Lens `reach`: what is lost now. Marks from the roots (registers, live stacks,
// globals, thread-local storage, other writable memory), then sorts every block that no
// root leads to into lost and indirectly lost, and groups all by allocation stack.
#pragma once
#include "os/world.h"

struct ll_look {
    uint32_t trigger; // LL_TRIGGER_*
    uint32_t signal;  // the fatal signal, else 0
    // The thread that looks, as it was when it entered the runtime.
    struct ll_registers self;
};

// Marks, classifies and records one snapshot of a stopped world. Returns the number of
// lost blocks. Uses memory from the system only, about 1 % of the heap's size.
uint64_t ll_reach_look(const struct ll_look* look, const struct ll_world* world);

// Memory that counts as a root, and memory that no longer does.
void ll_roots_add(const void* start, size_t size_bytes);
void ll_roots_remove(const void* start, size_t size_bytes);

// Stacks of threads, so that the stack of a thread that has ended is no root although
// libc keeps it mapped for the next thread. An app mapping over the range ends it.
void ll_roots_thread_stack_begin(uintptr_t start, uintptr_t end);
void ll_roots_thread_stack_end(uintptr_t start, uintptr_t end);
void ll_roots_mapped(uintptr_t start, uintptr_t end);
