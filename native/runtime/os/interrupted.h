// System calls that the stop signal interrupted. Many of them (poll, epoll_wait,
// nanosleep ...) fail with EINTR after any signal handler, SA_RESTART or not; the
// program must not see that.
#pragma once

// To be called last in the handler of the stop signal, with all signals blocked.
// Changes the context so that an interrupted system call is made again, unless a signal
// of the program itself is waiting to interrupt it.
void ll_interrupted_restart(int stop_signal, void* context);
