// Who touched pages, if asked: every touch of a watched page then waits until an
// assistant of the companion has noted its call stack. A touch by the program's own
// code is noted by the thread itself, in a signal handler; one by a system call by the
// assistant, as far as the frames of the call need no register that is not known.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/presence.h"

// For the companion, before any part of the heap is singled out. Tries it all on a page
// of its own first; when that fails pages are watched as without.
void ll_page_touches_start(struct ll_presence* presence);

// For the companion, now and then: without the assistant nobody may wait any more. True
// when that happened since the last time.
bool ll_page_touches_have_ended(struct ll_presence* presence);

// The upper half of the value of a stop signal by which the assistant asks the thread
// that waits for its call stack; the lower half is the number of the question.
#define LL_PAGES_TOUCH_MAGIC UINT64_C(0x4c4c5354)

// In the handler of that signal.
void ll_page_touches_answer(uint64_t value, const void* signal_context);

// The node of the last touch that was noted of a page, 0 when none is known.
uint32_t ll_page_touches_last(uintptr_t address);

// Writes whether it works. For a look.
void ll_page_touches_write(void);
