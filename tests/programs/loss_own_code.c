// Looks at its own code: data between instructions, and a sum over a function's bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"

extern const uint64_t numbers_in_code[2];
uint64_t first_number(uint64_t* slot);

// Without unwind tables, with data that would decode as stores, and a jump over it.
__asm__(".text\n"
        ".globl first_number\n"
        "first_number:\n"
        "leaq numbers_in_code(%rip), %rax\n"
        "movq (%rax), %rax\n"
        "jmp 1f\n"
        ".globl numbers_in_code\n"
        "numbers_in_code: .quad 0x4889034889034889, 0x0348890348890348\n"
        "1: movq %rax, (%rdi)\n"
        "ret\n");

static uint64_t* volatile kept;

__attribute__((noinline)) static void overwritten_bad(void) {
    kept = malloc(40);
    kept = NULL;
    KEEP(&kept);
}

static unsigned sum_of_code(void) {
    unsigned sum = 0;
    const unsigned char* code = (const unsigned char*)overwritten_bad;
    for (int i = 0; i < 24; i++) {
        sum = sum * 31 + code[i];
    }
    return sum;
}

int main(int argc, char** argv) {
    uint64_t slot = 0;
    uint64_t number = first_number(&slot);
    overwritten_bad();
    printf("%d\n", number == numbers_in_code[0] && slot == number);
    if (argc > 1 && argv[1][0] == 's') {
        printf("%u\n", sum_of_code());
    }
    return 0;
}
