// Arms sites again after their bursts, at the rate of the adaptive schedule and within
// the budget. Runs on the runtime's own thread, which sleeps while the process does not
// use the processor.
#pragma once
#include <stdbool.h>

#include "os/lock.h"

// Held while the scheduler changes code.
extern struct ll_lock ll_arm_lock;

// Takes the lock for those who load, unload or fork; an open window is closed for them.
void ll_schedule_hold(void);
void ll_schedule_let_go(void);

// True while somebody waits for the lock.
bool ll_schedule_is_awaited(void);

// Gets the tables for places. False without memory.
bool ll_schedule_start(void);

// The thread's function; returns when `ll_schedule_stop` asked for it.
void ll_schedule_run(void);

// Ends the thread and waits for its end; sites are armed no more.
void ll_schedule_stop(void);

// Around calls for which the process must have no thread but its own. errno stays.
void ll_schedule_pause(void);
void ll_schedule_resume(void);

// Around fork, in the forking thread. A child gets its thread when a site of it ends a
// burst, so that a fork followed by exec stays cheap. Its clock starts anew.
void ll_schedule_fork_prepare(void);
void ll_schedule_fork_parent(void);
void ll_schedule_fork_child(void);

// Gives back what new places brought into memory, unless somebody is at it already. For
// threads of the program; a signal handler of theirs may fork, so none runs meanwhile.
void ll_schedule_let_pages_go(void);

// The same with all stubs that have run, for a look: it needs memory of its own, and
// the program, which has stopped or is about to end, needs none of them.
void ll_schedule_let_all_pages_go(void);

// One pass: brings the clock up to date, takes over what ended its burst, arms what is
// due.
void ll_schedule_pass(void);

struct ll_schedule_counts {
    uint64_t bursts;
    uint64_t touches; // that were noted, about
    uint64_t passes;
    uint64_t spent_ns; // CPU time that it all cost, estimated
};
struct ll_schedule_counts ll_schedule_counts(void);
