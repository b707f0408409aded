// A block whose address lies only below the stack pointer of the function that calls
// exit, where the loader keeps registers while it binds a symbol at its first call.
#include <stdint.h>
#include <stdlib.h>

#include "corpus.h"

// Missed by the checker: an address that is an inverted number is followed no further.
CASE uintptr_t FN_below_stack_pointer_bad(void) {
    return ~(uintptr_t)malloc(300);
}

int main(void) {
    uintptr_t hidden = FN_below_stack_pointer_bad();
    __asm__ volatile("mov %0, %%rax\n\t"
                     "not %%rax\n\t"
                     "mov %%rax, -128(%%rsp)\n\t"
                     "mov %%rax, -120(%%rsp)\n\t"
                     "mov %%rax, -112(%%rsp)\n\t"
                     "mov %%rax, -104(%%rsp)\n\t"
                     "mov %%rax, -96(%%rsp)\n\t"
                     "mov %%rax, -88(%%rsp)\n\t"
                     "mov %%rax, -80(%%rsp)\n\t"
                     "mov %%rax, -72(%%rsp)\n\t"
                     "xor %%eax, %%eax\n\t"
                     :
                     : "r"(hidden)
                     : "rax", "memory");
    exit(0);
}
