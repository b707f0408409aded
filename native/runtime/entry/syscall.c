// syscall(2) as libc has it, except that it leaves the number where the handler of the
// stop signal finds it (os/interrupted.c): below the stack pointer, in the red zone.
// seccomp has no function of its own in libc and is caught here.
#include "base/attributes.h"
#include "entry/sandbox.h"

LL_EXPORT long syscall(long number, ...);

__attribute__((naked)) long syscall(__attribute__((unused)) long number, ...) {
    __asm__("cmp $317, %rdi\n\t" // SYS_seccomp
            "je 2f\n\t"
            "mov %rdi, %rax\n\t"
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
            "jmp ll_sandbox_enter");
}
