// Registration of the fatal signals' handler, and the one way to change an action.
#pragma once
#include <signal.h>

void ll_signals_start(void);

// Gives the default actions back.
void ll_signals_end(void);

// SIGTRAP becomes ours: the program sees the default action, nobody can block it, and
// one who sets an action of his own ends the refinement.
void ll_signals_take_traps(void);

// What sigaction does as the program sees it: our handlers are the default action.
int ll_signal_change_action(int signal, const struct sigaction* wanted,
                            struct sigaction* old);
