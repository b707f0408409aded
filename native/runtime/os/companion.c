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

static char* assistant_stack;
static int assistant;       // its process, 0: none; stays when it has ended
static int assistant_alive; // not 0 until it ends, when the kernel clears it
static void (*assistant_task)(void);

static _Noreturn void run_as_child(void (*run)(void)) {
    (void)ll_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (ll_syscall(SYS_getppid) == owner) {
        run();
    }
    for (;;) {
        ll_syscall(SYS_exit, 0);
    }
}

static _Noreturn void run_task(void) {
    (void)ll_syscall(SYS_close_range, 0, UINT_MAX, 0);
    run_as_child(task);
}

static _Noreturn void run_assistant_task(void) {
    run_as_child(assistant_task);
}

// The new process must not return from here: its stack is empty.
static long clone_onto(void* stack_top, long flags, int* set, int* cleared,
                       void (*run)(void)) {
    long result;
    register int* r10 __asm__("r10") = cleared;
    register long r8 __asm__("r8") = 0;
    register void (*first)(void) __asm__("r12") = run;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%%r12\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(flags), "S"(stack_top), "d"(set), "r"(r10),
                       "r"(r8), "r"(first)
                     : "rcx", "r11", "memory");
    return result;
}

static bool have_stack(char** of) {
    if (*of == NULL) {
        *of = ll_memory_map(STACK_SIZE);
    }
    return *of != NULL;
}

bool ll_companion_start(void (*run)(void)) {
    if (!have_stack(&stack) || pid != 0) {
        return false;
    }
    task = run;
    owner = (int)ll_syscall(SYS_getpid);
    uint64_t mask = ll_signals_block();
    long result = clone_onto(stack + STACK_SIZE, CLONE_VM, NULL, NULL, run_task);
    ll_signals_restore(mask);
    pid = result > 0 ? (int)result : 0;
    return result > 0;
}

// Both are children of the program: one of the companion's would become somebody else's
// when the companion ends, and show in that one's wait().
bool ll_assistant_start(void (*run)(void)) {
    const long flags = CLONE_VM | CLONE_FILES | CLONE_PARENT | CLONE_PARENT_SETTID |
                       CLONE_CHILD_CLEARTID;
    if (!have_stack(&assistant_stack) || ll_assistant_is_alive()) {
        return false;
    }
    assistant_task = run;
    __atomic_store_n(&assistant_alive, 1, __ATOMIC_RELEASE);
    long result = clone_onto(assistant_stack + STACK_SIZE, flags, &assistant,
                             &assistant_alive, run_assistant_task);
    if (result <= 0) {
        __atomic_store_n(&assistant_alive, 0, __ATOMIC_RELEASE);
    }
    return result > 0;
}

bool ll_assistant_is_alive(void) {
    return __atomic_load_n(&assistant_alive, __ATOMIC_ACQUIRE) != 0;
}

void ll_assistant_stop(void) {
    if (assistant != 0) {
        ll_syscall(SYS_kill, assistant, SIGKILL);
    }
}

static void end_child(int* child) {
    if (*child != 0) {
        ll_syscall(SYS_kill, *child, SIGKILL);
        ll_syscall(SYS_wait4, *child, NULL, __WALL, NULL);
        *child = 0;
    }
}

void ll_companion_stop(void) {
    end_child(&pid);
    end_child(&assistant);
}

bool ll_companion_is_alive(void) {
    if (pid != 0 && ll_syscall(SYS_wait4, pid, NULL, __WALL | WNOHANG, NULL) != 0) {
        pid = 0;
    }
    return pid != 0;
}

void ll_companion_forget(void) {
    pid = 0;
    assistant = 0;
    assistant_alive = 0;
}

int ll_companion_owner(void) {
    return owner;
}
