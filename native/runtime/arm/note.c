// Finds the block of a touched address as heap/inspect.h does, and writes its touch
// word. This runs for every touch of an armed site, so the usual path calls nothing and
// saves little.
#include "arm/note.h"

#include <stddef.h>

#include "arm/record.h"
#include "arm/touch.h"

_Static_assert(offsetof(struct ll_arm_module, row_of) == 0, "used below");
_Static_assert(offsetof(struct ll_arm_module, range) == 8, "used below");
_Static_assert(offsetof(struct ll_arm_module, tick) == 16, "used below");
_Static_assert(offsetof(struct ll_arm_module, turn) == 24, "used below");
_Static_assert(offsetof(struct ll_arm_module, twin_distance) == 32, "used below");
_Static_assert(offsetof(struct ll_arm_module, records) == 40, "used below");
_Static_assert(offsetof(struct ll_arm_module, rows) == 48, "used below");
_Static_assert(LL_ARM_ROW == 32, "used below");
_Static_assert(offsetof(struct ll_arm_record, left) == 0, "used below");
_Static_assert(offsetof(struct ll_arm_record, use) == 8, "used below");
_Static_assert(offsetof(struct ll_arm_record, caller) == 12, "used below");
_Static_assert(offsetof(struct ll_arm_record, caller_at) == 16, "used below");
_Static_assert(offsetof(struct ll_arm_record, caller_by_rbp) == 18, "used below");
_Static_assert(offsetof(struct ll_range, start) == 0, "used below");
_Static_assert(offsetof(struct ll_range, used_bytes) == 8, "used below");
_Static_assert(offsetof(struct ll_range, spans) == 16, "used below");
_Static_assert(offsetof(struct ll_span, capacity) == 4, "used below");
_Static_assert(offsetof(struct ll_span, words) == 8, "used below");
_Static_assert(offsetof(struct ll_span, start) == 16, "used below");
_Static_assert(offsetof(struct ll_span, reciprocal) == 24, "used below");
_Static_assert(LL_WORD_LIVE_BYTE == 6 && LL_UNIT_SHIFT == 16, "used below");

__attribute__((naked)) void ll_arm_note(void) {
    __asm__(
        // The address to rdx; the arithmetic flags to ax: lahf and seto keep them all.
        "push %rdx\n\t"
        "mov %rax, %rdx\n\t"
        "lahf\n\t"
        "seto %al\n\t"
        "push %rax\n\t"
        "push %rsi\n\t"
        "push %rdi\n\t"
        // rsi = the record of the site.
        "mov 48(%rsp), %esi\n\t"
        "mov (%rcx), %rdi\n\t"
        "mov %esi, %eax\n\t"
        "shr $5, %eax\n\t"
        "mov (%rdi,%rax,4), %eax\n\t"
        "and $31, %esi\n\t"
        "add %rax, %rsi\n\t"
        "mov 48(%rcx), %rdi\n\t"
        "mov (%rdi,%rsi,4), %esi\n\t"
        "shl $5, %rsi\n\t"
        "add 40(%rcx), %rsi\n\t"
        "decl (%rsi)\n\t"
        "jle 3f\n\t"
        // Most touches are none of the heap.
        "mov 8(%rcx), %rax\n\t"
        "mov %rdx, %rdi\n\t"
        "sub (%rax), %rdi\n\t"
        "cmp 8(%rax), %rdi\n\t"
        "jae 2f\n\t"
        // Another caller makes it another use: [rax + 8 * rdi] is the return address.
        "movswq 16(%rsi), %rdi\n\t"
        "lea 192(%rsp), %rax\n\t"
        "cmpb $0, 18(%rsi)\n\t"
        "jne 5f\n\t"
        "4: mov (%rax,%rdi,8), %eax\n\t"
        "mov 8(%rsi), %rsi\n\t"
        "mov %rsi, %rdi\n\t"
        "shr $32, %rdi\n\t"
        "cmp %eax, %edi\n\t"
        "jne 3f\n\t"
        // esi = the use, rdi = the span, rdx = the index of the block, then rdi = its
        // word.
        "1: mov 8(%rcx), %rax\n\t"
        "mov %rdx, %rdi\n\t"
        "sub (%rax), %rdi\n\t"
        "cmp 8(%rax), %rdi\n\t"
        "jae 2f\n\t"
        "shr $16, %rdi\n\t"
        "mov 16(%rax), %rax\n\t"
        "mov (%rax,%rdi,8), %rdi\n\t"
        "mov %rdx, %rax\n\t"
        "sub 16(%rdi), %rax\n\t"
        "mulq 24(%rdi)\n\t"
        "cmp 4(%rdi), %edx\n\t"
        "jae 2f\n\t"
        "mov 8(%rdi), %rdi\n\t"
        "lea (%rdi,%rdx,8), %rdi\n\t"
        "testb $1, 6(%rdi)\n\t"
        "jz 2f\n\t"
        // The first tick stays, unless this is the first touch since the birth.
        "add 32(%rcx), %rdi\n\t"
        "mov 16(%rcx), %rax\n\t"
        "mov (%rax), %rax\n\t"
        "mov %esi, %esi\n\t"
        "mov (%rdi), %rdx\n\t"
        "shl $20, %rax\n\t"
        "or %rax, %rsi\n\t"
        "shr $20, %rax\n\t"
        "shl $22, %rsi\n\t"
        "push %rdx\n\t"
        "shr $22, %rdx\n\t"
        "test $0xfffff, %edx\n\t"
        "pop %rdx\n\t"
        "cmovz %rax, %rdx\n\t"
        "and $0x3fffff, %edx\n\t"
        "or %rdx, %rsi\n\t"
        "mov %rsi, (%rdi)\n\t"
        "2: pop %rdi\n\t"
        "pop %rsi\n\t"
        "pop %rax\n\t"
        "add $0x7f, %al\n\t"
        "sahf\n\t"
        "pop %rdx\n\t"
        "pop %rcx\n\t"
        // Over the number of the site, the program's rax and its red zone.
        "mov 16(%rsp), %rax\n\t"
        "ret $144\n"
        // By rbp, if that is near the stack pointer as it should.
        "5: neg %rax\n\t"
        "add %rbp, %rax\n\t"
        "cmp $0x10000, %rax\n\t"
        "mov %rbp, %rax\n\t"
        "jb 4b\n"
        // The slow path, in C that leaves vector registers alone.
        "3: push %rcx\n\t"
        "push %rdx\n\t"
        "push %rsi\n\t"
        "push %r8\n\t"
        "push %r9\n\t"
        "push %r10\n\t"
        "push %r11\n\t"
        "push %rbp\n\t"
        "mov 112(%rsp), %esi\n\t"
        "mov %rcx, %rdi\n\t"
        "mov %rbp, %rcx\n\t"
        "mov %rdx, %r8\n\t"
        "lea 256(%rsp), %rdx\n\t"
        "mov %rsp, %rbp\n\t"
        "and $-16, %rsp\n\t"
        "call *24(%rdi)\n\t"
        "mov %rbp, %rsp\n\t"
        "pop %rbp\n\t"
        "pop %r11\n\t"
        "pop %r10\n\t"
        "pop %r9\n\t"
        "pop %r8\n\t"
        "pop %rsi\n\t"
        "pop %rdx\n\t"
        "pop %rcx\n\t"
        "mov 48(%rsp), %esi\n\t"
        "mov (%rcx), %rdi\n\t"
        "mov %esi, %eax\n\t"
        "shr $5, %eax\n\t"
        "mov (%rdi,%rax,4), %eax\n\t"
        "and $31, %esi\n\t"
        "add %rax, %rsi\n\t"
        "mov 48(%rcx), %rdi\n\t"
        "mov (%rdi,%rsi,4), %esi\n\t"
        "shl $5, %rsi\n\t"
        "add 40(%rcx), %rsi\n\t"
        "mov 8(%rsi), %esi\n\t"
        "jmp 1b");
}
