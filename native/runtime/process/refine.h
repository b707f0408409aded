// `--refine`: watches single blocks from their birth to the moment
// when nothing refers to them any more, and writes down the way there.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "process/traps.h"
#include "process/watch_list.h"

// Begins to wait for the targets of a list. False, and nothing is watched, when the
// code of the modules cannot be trapped.
bool ll_refine_start(const struct ll_watch_list* list, const uintptr_t* biases,
                     enum ll_traps_code code);

// A list may come later: until then nobody may block traps.
void ll_refine_expect(void);

// True while a list is followed or expected.
bool ll_refine_is_on(void);

// Gives up: the program wants SIGTRAP for itself.
void ll_refine_give_up(void);

// Takes a SIGTRAP. False when it is not ours.
bool ll_refine_trapped(const siginfo_t* information, void* signal_context);

// Under the look lock, when the process is about to end: writes the results.
void ll_refine_record(void);

// In a child, which may allocate targets of a second run. A list that comes later, or
// whose targets recur, is for the parent.
void ll_refine_fork_child(void);
