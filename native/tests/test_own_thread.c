// The runtime's own thread leaves the program's files to the program.
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"
#include "os/own_thread.h"
#include "os/syscall.h"

static int ends[2];
static long seen; // what the thread's system call says of a file of the program
static bool has_seen;
static bool may_end;

static void yield_until(const bool* condition) {
    while (!__atomic_load_n(condition, __ATOMIC_ACQUIRE)) {
        ll_syscall(SYS_sched_yield);
    }
}

static void look_at_files(void) {
    seen = ll_syscall(SYS_fcntl, ends[0], F_GETFD, 0);
    __atomic_store_n(&has_seen, true, __ATOMIC_RELEASE);
    yield_until(&may_end);
}

// The end of a pipe is seen when nobody has its other side any more.
int main(void) {
    char byte;
    CHECK(pipe(ends) == 0);
    CHECK(ll_own_thread_start(look_at_files));
    yield_until(&has_seen);
    CHECK(seen == -EBADF);
    CHECK(fcntl(ends[0], F_GETFD) == 0);
    CHECK(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1);
    close(ends[1]);
    CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    CHECK(read(ends[0], &byte, 1) == 0);
    __atomic_store_n(&may_end, true, __ATOMIC_RELEASE);
    while (ll_own_thread_id() != 0) {
        ll_syscall(SYS_sched_yield);
    }
    return failures != 0;
}
