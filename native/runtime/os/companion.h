// A process of our own beside the program that shares its memory and nothing else:
// its processor time does not count as the program's, its descriptors are its own, the
// program's thread count stays what it is, and no wait() of the program tells of it.
// It must use no thread-local variable, since those are the main thread's.
#pragma once
#include <stdbool.h>

// Starts `run`, which gets all signals blocked and every descriptor closed. Once at a
// time. False when the system refuses.
bool ll_companion_start(void (*run)(void));

// For the companion: starts a second one, which has the same descriptors as the first.
// Once at a time. False when the system refuses.
bool ll_assistant_start(void (*run)(void));

// True while it runs.
bool ll_assistant_is_alive(void);

// For the companion: ends the second one.
void ll_assistant_stop(void);

// Ends both, wherever they are. The program goes on as without it.
void ll_companion_stop(void);

// True while it runs. It also ends when the thread that started it does.
bool ll_companion_is_alive(void);

// In a forked child: the companion is the parent's.
void ll_companion_forget(void);

// The process that started it; for the companion.
int ll_companion_owner(void);
