// Registration of what happens when a thread ends.
#pragma once

void ll_threads_start(void);

// Around fork: no thread is between its creator and its first frame.
void ll_threads_fork_prepare(void);
void ll_threads_fork_done(void);
