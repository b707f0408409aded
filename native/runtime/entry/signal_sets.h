// Signal sets without the stop signal: the program may believe that it blocks or awaits
// that signal, but never really does.
#pragma once
#include <signal.h>

// The set to hand to the kernel: `set` itself, or `copy` where the stop signal had to
// be left out. NULL stays NULL.
const sigset_t* ll_signal_set_for_kernel(const sigset_t* set, sigset_t* copy);
