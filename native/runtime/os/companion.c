#include "os/companion.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "os/lock.h"
#include "os/memory.h"
#include "os/syscall.h"

enum { STACK_SIZE = 128 * 1024 };

static char* stack;
static int pid; // of the companion, 0: none
static int owner;
static void (*task)(void);

static _Noreturn void run_task(void) {
    (void)ll_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    (void)ll_syscall(SYS_close_range, 0, UINT_MAX, 0);
    if (ll_syscall(SYS_getppid) == owner) {
        task();
    }
    for (;;) {
        ll_syscall(SYS_exit, 0);
    }
}

// The new process must not return from here: its stack is empty.
static long clone_onto(void* stack_top) {
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register void (*first)(void) __asm__("r12") = run_task;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%%r12\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"((long)CLONE_VM), "S"(stack_top), "d"(0),
                       "r"(r10), "r"(r8), "r"(first)
                     : "rcx", "r11", "memory");
    return result;
}

bool ll_companion_start(void (*run)(void)) {
    if (stack == NULL) {
        stack = ll_memory_map(STACK_SIZE);
    }
    if (stack == NULL || pid != 0) {
        return false;
    }
    task = run;
    owner = (int)ll_syscall(SYS_getpid);
    uint64_t mask = ll_signals_block();
    long result = clone_onto(stack + STACK_SIZE);
    ll_signals_restore(mask);
    pid = result > 0 ? (int)result : 0;
    return result > 0;
}

void ll_companion_stop(void) {
    if (pid != 0) {
        ll_syscall(SYS_kill, pid, SIGKILL);
        ll_syscall(SYS_wait4, pid, NULL, __WALL, NULL);
        pid = 0;
    }
}

bool ll_companion_is_alive(void) {
    if (pid != 0 && ll_syscall(SYS_wait4, pid, NULL, __WALL | WNOHANG, NULL) != 0) {
        pid = 0;
    }
    return pid != 0;
}

void ll_companion_forget(void) {
    pid = 0;
}

int ll_companion_owner(void) {
    return owner;
}
