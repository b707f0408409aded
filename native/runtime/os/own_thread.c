#include "os/own_thread.h"

#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stddef.h>

#include "os/lock.h"
#include "os/memory.h"
#include "os/syscall.h"

enum { STACK_SIZE = 64 * 1024 };

static char* stack;
static int id;
static long last_id; // of the latest one, also when it has ended
static void (*work)(void);

int ll_own_thread_id(void) {
    return __atomic_load_n(&id, __ATOMIC_ACQUIRE);
}

bool ll_own_thread_is_here(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return stack != NULL && here - (uintptr_t)stack < STACK_SIZE;
}

void ll_own_thread_forget(void) {
    __atomic_store_n(&id, 0, __ATOMIC_RELEASE);
}

// The new thread returns from the system call on an empty stack, so this cannot be C.
static long clone_to(void (*run)(void), void* stack_top) {
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                       CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
                       CLONE_CHILD_CLEARTID;
    long result;
    register int* parent_id __asm__("rdx") = &id;
    register int* cleared_id __asm__("r10") = &id;
    register void (*first)(void) __asm__("r9") = run; // not rbp, which ends stacks
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%[first]\n\t"
                     "mov %[exit], %%eax\n\t"
                     "xor %%edi, %%edi\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(flags), "S"(stack_top), "r"(parent_id),
                       "r"(cleared_id), [first] "r"(first), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
}

// While two threads share a table of files, the kernel counts each use of one of them
// by a locked instruction. The program's is let go as a whole; no file is closed.
static void work_without_files(void) {
    ll_syscall(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE);
    work();
}

bool ll_own_thread_start(void (*run)(void)) {
    if (ll_own_thread_id() != 0) {
        return true;
    }
    if (stack == NULL) {
        stack = ll_memory_map(STACK_SIZE);
    }
    if (stack == NULL) {
        return false;
    }
    uint64_t mask = ll_signals_block();
    work = run;
    long result = clone_to(work_without_files, stack + STACK_SIZE);
    ll_signals_restore(mask);
    last_id = result;
    return result > 0;
}

void ll_own_thread_await_end(void) {
    enum { TRIES = 1 << 20 }; // its number may have gone to a thread of the program
    long process = ll_syscall(SYS_getpid);
    for (int i = 0; i < TRIES && last_id > 0 && ll_own_thread_id() == 0; i++) {
        if (ll_syscall(SYS_tgkill, process, last_id, 0) != 0) {
            last_id = 0;
        } else {
            ll_syscall(SYS_sched_yield);
        }
    }
}
