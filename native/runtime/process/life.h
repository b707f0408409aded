// What the parts of process/ share: the state of the process and the look lock, under
// which everything is written.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/world.h"

// A request for a snapshot is the stop signal with a value of
// LL_REQUEST_MAGIC << 32 | periodic << 31 | request number.
#define LL_REQUEST_MAGIC 0x4c4c5351ULL
#define LL_REQUEST_PERIODIC (1ULL << 31)

struct ll_life {
    bool watched;        // a recording was named
    bool start_recorded; // `process_start` is written or waits in the current chunk
    bool ended;          // the last look has been taken
    int pid;             // whose memory this is; a child of vfork has another
    uint32_t origin;     // LL_ORIGIN_*
    uint32_t looks;      // looks begun so far
    ll_signal_handler* on_foreign_signal;
};

extern struct ll_life ll_life;

// Keeps looks and everything that is recorded apart. Taken with all signals blocked;
// the result is the mask to restore. A thread that waits can be stopped meanwhile.
uint64_t ll_look_lock(void);
bool ll_look_try_lock(uint64_t* mask);
void ll_look_unlock(uint64_t mask);

// Gets the stack that looks run on. False without memory: there will be no looks.
bool ll_look_start(void);

// Under the look lock: records kept in the current chunk.
void ll_life_record_start(void);
void ll_life_record_pending(void); // the start and others that waited for a reason
void ll_life_record_not_seen(uint32_t reason, uint32_t detail, const char* sentence);

uint64_t ll_clock_ns(int clock);
