// A *window* is a short time during which every site that ever ran is armed and stays
// so. Sampling alone makes blocks in use look idle; a block that was idle through a
// window was not used by anything that ran in it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct ll_window_counts {
    uint64_t windows;   // that the program ran in
    uint64_t window_ns; // its CPU time in them
};

// Opens a window, waits and closes it; the lock of the scheduler is held. Returns the
// CPU time that it cost.
uint64_t ll_window_pass(void);

// All code is armed at all times: each stretch of `length_ns` counts as a window, at no
// cost of its own.
uint64_t ll_window_always(uint64_t length_ns);

// Windows that were opened after a tick of the touch clock. For a stopped world.
uint32_t ll_windows_since(uint64_t tick);

struct ll_window_counts ll_window_counts(void);

// In a forked child, whose clock starts anew.
void ll_windows_forget(void);
