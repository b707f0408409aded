// Calls hooks as trampolines do.
#pragma once
#include <stdint.h>

#include "patch/shadow.h"

static const uintptr_t test_caller = 0x7f1234567890;

// What some registers hold when a hook is called; the others hold numbers.
struct hook_input {
    uint64_t rax;
    uint64_t rcx;
    uint64_t rdi;
    uint64_t rsi;
    uint64_t flags;
};

// What the registers hold after a call, apart from rax and rsp; the flags come last.
struct registers {
    uint64_t values[14];
};

// Flags as programs have them, and with the one that makes strings run downwards.
enum { FLAGS_UPWARDS = 0x202, FLAGS_DOWNWARDS = 0x602 };

// Returns the address behind the call.
uint64_t call_with_registers(uint64_t hook, const struct hook_input* input,
                             struct registers* after);

__asm__(".text\n"
        ".globl call_with_registers\n"
        "call_with_registers:\n"
        "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n"
        "pushq %r15\n"
        "movq %rdx, %r15\n"
        "pushq %rdi\n"
        "movq 0(%rsi), %rax\n movq 8(%rsi), %rcx\n movq 16(%rsi), %rdi\n"
        "pushq 32(%rsi)\n popfq\n"
        "movq 24(%rsi), %rsi\n"
        "movq $2, %rdx\n movq $3, %rbx\n movq $6, %rbp\n"
        "movq $7, %r8\n movq $8, %r9\n movq $9, %r10\n movq $10, %r11\n"
        "movq $11, %r12\n movq $12, %r13\n movq $13, %r14\n"
        "call *(%rsp)\n"
        "1:\n"
        "movq %rdx, 0(%r15)\n movq %rbx, 8(%r15)\n movq %rsi, 16(%r15)\n"
        "movq %rdi, 24(%r15)\n movq %rbp, 32(%r15)\n movq %r8, 40(%r15)\n"
        "movq %r9, 48(%r15)\n movq %r10, 56(%r15)\n movq %r11, 64(%r15)\n"
        "movq %r12, 72(%r15)\n movq %r13, 80(%r15)\n movq %r14, 88(%r15)\n"
        "movq %rcx, 96(%r15)\n"
        "pushfq\n popq 104(%r15)\n cld\n"
        "leaq 1b(%rip), %rax\n"
        "popq %rdi\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n"
        "ret\n");

static uint32_t call_hook_with(unsigned number, const struct hook_input* input,
                               struct registers* after) {
    uint64_t hook = *(uint64_t*)(uintptr_t)(LL_HOOK_TABLE + 8 * number);
    return (uint32_t)call_with_registers(hook, input, after);
}

// Calls a hook as a trampoline does; returns the place it must tell. The string begins
// at the slot when `count` is not 0.
static uint32_t call_hook(unsigned number, uintptr_t slot, uint64_t count,
                          struct registers* after) {
    struct hook_input input = {.rax = count != 0 ? test_caller : slot,
                               .rcx = count != 0 ? count : test_caller,
                               .rdi = slot,
                               .rsi = 4,
                               .flags = FLAGS_UPWARDS};
    return call_hook_with(number, &input, after);
}
