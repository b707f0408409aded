// Any code may be entered in any state: by a call, by a jump, or from the part before.
#include "arm/enter.h"

#include <stddef.h>

#include "arm/record.h"

_Static_assert(offsetof(struct ll_arm_module, wake) == 56, "used below");

__attribute__((naked)) void ll_arm_enter(void) {
    __asm__(
        // The arithmetic flags to ax: lahf and seto keep them all.
        "push %rax\n\t"
        "lahf\n\t"
        "seto %al\n\t"
        "push %rax\n\t"
        "push %rdx\n\t"
        "push %rsi\n\t"
        "push %rdi\n\t"
        "push %r8\n\t"
        "push %r9\n\t"
        "push %r10\n\t"
        "push %r11\n\t"
        "push %rbp\n\t"
        // Above lie the program's rcx, the way back, and the number of the part.
        "mov 96(%rsp), %esi\n\t"
        "mov %rcx, %rdi\n\t"
        "mov %rsp, %rbp\n\t"
        "and $-16, %rsp\n\t"
        "call *56(%rdi)\n\t"
        "mov %rbp, %rsp\n\t"
        "pop %rbp\n\t"
        "pop %r11\n\t"
        "pop %r10\n\t"
        "pop %r9\n\t"
        "pop %r8\n\t"
        "pop %rdi\n\t"
        "pop %rsi\n\t"
        "pop %rdx\n\t"
        "pop %rax\n\t"
        "add $0x7f, %al\n\t"
        "sahf\n\t"
        "pop %rax\n\t"
        "pop %rcx\n\t"
        // Over the number and the red zone.
        "ret $136");
}
