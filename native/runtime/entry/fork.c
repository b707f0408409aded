// Fork. Handlers registered before all others run last before the fork and first after
// it. vfork, _Fork and clone by hand are left alone: their children are recognised by a
// process id that is not ours, and do nothing.
#include "entry/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "entry/threads.h"
#include "process/process.h"

static void prepare(void) {
    ll_process_fork_prepare();
    ll_threads_fork_prepare();
}

static void in_parent(void) {
    ll_threads_fork_done();
    ll_process_fork_parent();
}

static void in_child(void) {
    ll_threads_fork_done();
    ll_process_fork_child();
}

void ll_fork_start(void) {
    pthread_atfork(prepare, in_parent, in_child);
}

LL_EXPORT pid_t fork(void) {
    pid_t child = ll_real()->fork();
    if (child > 0) {
        ll_process_note_fork(child);
    }
    return child;
}
