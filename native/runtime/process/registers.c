// The registers of a caller, and a call on another stack: the two things that C cannot
// say.
#include "process/registers.h"

#include "process/process.h"

// general[] holds rbx at 3, rbp at 6, rsp at 7, r12 to r15 at 12 to 15; pc follows.
__attribute__((naked)) void
ll_registers_here(__attribute__((unused)) struct ll_registers* registers) {
    __asm__("xor %eax, %eax\n\t"
            "mov %rax, 0(%rdi)\n\t"
            "mov %rax, 8(%rdi)\n\t"
            "mov %rax, 16(%rdi)\n\t"
            "mov %rbx, 24(%rdi)\n\t"
            "mov %rax, 32(%rdi)\n\t"
            "mov %rax, 40(%rdi)\n\t"
            "mov %rbp, 48(%rdi)\n\t"
            "lea 8(%rsp), %rdx\n\t"
            "mov %rdx, 56(%rdi)\n\t"
            "mov %rax, 64(%rdi)\n\t"
            "mov %rax, 72(%rdi)\n\t"
            "mov %rax, 80(%rdi)\n\t"
            "mov %rax, 88(%rdi)\n\t"
            "mov %r12, 96(%rdi)\n\t"
            "mov %r13, 104(%rdi)\n\t"
            "mov %r14, 112(%rdi)\n\t"
            "mov %r15, 120(%rdi)\n\t"
            "mov (%rsp), %rdx\n\t"
            "mov %rdx, 128(%rdi)\n\t"
            "ret");
}

__attribute__((naked)) void
ll_call_on_stack(__attribute__((unused)) void (*function)(void*),
                 __attribute__((unused)) void* argument,
                 __attribute__((unused)) void* stack_top) {
    __asm__("push %rbp\n\t"
            "mov %rsp, %rbp\n\t"
            "mov %rdx, %rsp\n\t"
            "mov %rdi, %rax\n\t"
            "mov %rsi, %rdi\n\t"
            "call *%rax\n\t"
            "mov %rbp, %rsp\n\t"
            "pop %rbp\n\t"
            "ret");
}

struct ll_occasion ll_occasion_interrupted(uint32_t trigger, uint32_t status,
                                           const void* signal_context) {
    struct ll_occasion occasion = {.trigger = trigger, .status = status};
    ll_registers_interrupted(signal_context, &occasion.self);
    occasion.vector_registers =
        ll_vector_registers(signal_context, &occasion.vector_size_bytes);
    return occasion;
}
