// What the stopping thread and the handlers of the stopped ones share.
#pragma once
#include <stdatomic.h>
#include <time.h>

#include "os/world.h"

// Marks the signal's value as ours; the stop's number is in the low half.
#define LL_STOP_MAGIC 0x4c4c5354ULL

// A thread that waits in the handler; lies on that thread's signal stack.
struct ll_arrival {
    struct ll_arrival* next;
    struct ll_stopped_thread thread;
};

extern _Atomic uint32_t ll_stop_closed;  // number of the stop that holds threads, or 0
extern _Atomic uint32_t ll_stop_arrived; // threads that wait in the handler
extern _Atomic(struct ll_arrival*) ll_stop_arrivals;

// Waits while `word` holds `value`, at most for `patience` (NULL: for good).
void ll_stop_wait(_Atomic uint32_t* word, uint32_t value,
                  const struct timespec* patience);
void ll_stop_wake(_Atomic uint32_t* word);
