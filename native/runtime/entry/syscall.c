// syscall(2) as libc has it, except that it leaves the number where the handler of the
// stop signal finds it (os/interrupted.c): below the stack pointer, in the red zone.
// seccomp has no function of its own in libc and is caught here, and so are forks.
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/attributes.h"
#include "entry/sandbox.h"
#include "lens/pages.h"

LL_EXPORT long syscall(long number, ...);

// Before a system call that may be a fork: clone, fork, clone3.
__attribute__((used, externally_visible)) void
ll_syscall_begin_fork(long number, unsigned long argument);
void ll_syscall_begin_fork(long number, unsigned long argument) {
    unsigned long flags = number == SYS_clone3  ? *(const uint64_t*)argument
                          : number == SYS_clone ? argument
                                                : 0;
    if ((flags & CLONE_VM) == 0) {
        ll_pages_unknown_fork();
    }
}

__attribute__((naked)) long syscall(__attribute__((unused)) long number, ...) {
    __asm__("cmp $317, %rdi\n\t" // SYS_seccomp
            "je 2f\n\t"
            "cmp $56, %rdi\n\t" // SYS_clone
            "je 3f\n\t"
            "cmp $57, %rdi\n\t" // SYS_fork
            "je 3f\n\t"
            "cmp $435, %rdi\n\t" // SYS_clone3
            "je 3f\n"
            "4: mov %rdi, %rax\n\t"
            "mov %rsi, %rdi\n\t"
            "mov %rdx, %rsi\n\t"
            "mov %rcx, %rdx\n\t"
            "mov %r8, %r10\n\t"
            "mov %r9, %r8\n\t"
            "mov 8(%rsp), %r9\n\t"
            "mov %rax, -8(%rsp)\n\t"
            "syscall\n\t"
            "cmp $-4095, %rax\n\t"
            "jae 1f\n\t"
            "ret\n"
            "1: neg %eax\n\t"
            "push %rax\n\t"
            "call *__errno_location@GOTPCREL(%rip)\n\t"
            "pop %rcx\n\t"
            "mov %ecx, (%rax)\n\t"
            "mov $-1, %rax\n\t"
            "ret\n"
            "2: mov %rsi, %rdi\n\t"
            "mov %rdx, %rsi\n\t"
            "mov %rcx, %rdx\n\t"
            "jmp ll_sandbox_enter\n"
            "3: push %rdi\n\t"
            "push %rsi\n\t"
            "push %rdx\n\t"
            "push %rcx\n\t"
            "push %r8\n\t"
            "push %r9\n\t"
            "sub $8, %rsp\n\t"
            "call ll_syscall_begin_fork\n\t"
            "add $8, %rsp\n\t"
            "pop %r9\n\t"
            "pop %r8\n\t"
            "pop %rcx\n\t"
            "pop %rdx\n\t"
            "pop %rsi\n\t"
            "pop %rdi\n\t"
            "jmp 4b");
}
