// What the rest of the heap needs to know of threads, mostly for fork.
#pragma once
#include "heap/local.h"

// False before ll_heap_start.
bool ll_heap_is_started(void);

// The epoch of this process: how many forks lie between it and the first one.
uint32_t ll_epoch_now(void);

// Notes that the process has allocated since it was forked.
void ll_fork_note_allocation(void);

// All locks of the heap, in the order in which they nest.
void ll_threads_lock(void);
void ll_threads_unlock(void);
void ll_threads_renew_locks(void);

// The calling thread's heap, also while it is at work on it; NULL if it has none.
struct ll_heap* ll_threads_own_heap(void);

// True for heaps that outlive a fork in the child.
bool ll_threads_have_heap(const struct ll_heap* heap);

// True when threads besides the calling one have heaps.
bool ll_threads_are_others(void);

// In a forked child: heaps of threads that are no more can be taken, and nothing is
// pending.
void ll_threads_forget_others(void);
