// Calls hooks as trampolines do.
#pragma once
#include <stdint.h>

#include "patch/shadow.h"

static const uintptr_t test_caller = 0x7f1234567890;

// What the registers hold before and after a call, apart from rax, rcx and rsp.
struct registers {
    uint64_t values[13];
};

// Calls `hook` with rax, rcx and rdi as given and numbers in the other registers;
// returns the address behind the call.
uint64_t call_with_registers(uint64_t hook, uint64_t rax, uint64_t rcx, uint64_t rdi,
                             struct registers* after);

__asm__(".text\n"
        ".globl call_with_registers\n"
        "call_with_registers:\n"
        "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n"
        "pushq %r15\n"
        "movq %r8, %r15\n"
        "pushq %rdi\n"
        "movq %rsi, %rax\n"
        "movq %rcx, %rdi\n"
        "movq %rdx, %rcx\n"
        "movq $2, %rdx\n movq $3, %rbx\n movq $4, %rsi\n movq $6, %rbp\n"
        "movq $7, %r8\n movq $8, %r9\n movq $9, %r10\n movq $10, %r11\n"
        "movq $11, %r12\n movq $12, %r13\n movq $13, %r14\n"
        "call *(%rsp)\n"
        "1:\n"
        "movq %rdx, 0(%r15)\n movq %rbx, 8(%r15)\n movq %rsi, 16(%r15)\n"
        "movq %rdi, 24(%r15)\n movq %rbp, 32(%r15)\n movq %r8, 40(%r15)\n"
        "movq %r9, 48(%r15)\n movq %r10, 56(%r15)\n movq %r11, 64(%r15)\n"
        "movq %r12, 72(%r15)\n movq %r13, 80(%r15)\n movq %r14, 88(%r15)\n"
        "movq %rcx, 96(%r15)\n"
        "leaq 1b(%rip), %rax\n"
        "popq %rdi\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n"
        "ret\n");

// Calls a hook as a trampoline does; returns the place it must tell. The string begins
// at the slot when `count` is not 0.
static uint32_t call_hook(unsigned number, uintptr_t slot, uint64_t count,
                          struct registers* after) {
    uint64_t hook = *(uint64_t*)(uintptr_t)(LL_HOOK_TABLE + 8 * number);
    uint64_t rax = count != 0 ? test_caller : slot;
    uint64_t rcx = count != 0 ? count : test_caller;
    return (uint32_t)call_with_registers(hook, rax, rcx, slot, after);
}
