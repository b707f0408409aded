// The one thread that the runtime may have of its own. It is no thread of libc's: it
// has no thread-local storage (what it sees there belongs to the thread that started
// it) and no file, blocks every signal, and must call nothing but the runtime's own
// code.
#pragma once
#include <stdbool.h>

// Starts it, unless this process has it already. False when the system refuses.
bool ll_own_thread_start(void (*run)(void));

// Its id, 0 when there is none or it has ended: it is not stopped with the others.
int ll_own_thread_id(void);

// True in that thread. It has its thread-local memory from the one that started it.
bool ll_own_thread_is_here(void);

// Waits until one that has ended counts as a thread no more: the kernel clears its id
// a moment earlier.
void ll_own_thread_await_end(void);

// In a forked child, where it does not exist.
void ll_own_thread_forget(void);
