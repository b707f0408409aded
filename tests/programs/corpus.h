// What every program of the corpus shares. A function's name is its verdict: memory
// allocated under a function that ends in `_bad` is lost when the program ends,
// `_indirect_bad` only through another lost block; under `_ok` it is not lost. Of those
// that begin with `FN_` or `FP_` the static checker says otherwise: it misses what is
// lost, or reports what is not. A comment before them says why.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Keeps the compiler from removing an allocation that nobody looks at; with a
// variable's address, from removing what was stored there.
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

// A compiler that inlines a function into main would leave its dead values in main's
// frame and registers, where they count as references by every conservative rule; one
// that ends it with a jump to malloc would leave no frame of it on the stack; one that
// merges functions of the same body would leave one name for two verdicts.
#define CASE __attribute__((noipa, optimize("no-optimize-sibling-calls"))) static

// A function by whose name a comment `loss(NAME)` tells its block.
#define ALLOCATES(name)                                                                \
    __attribute__((noinline)) static void* name(void) {                                \
        void* block = malloc(24);                                                      \
        KEEP(block);                                                                   \
        return block;                                                                  \
    }

// What loses blocks of such functions, as written.
#define SCENE __attribute__((noinline)) static

// Overwrites the registers and the dead part of the stack below the caller, as any
// later work of a real program would.
__attribute__((noinline, unused)) static void scrub(void) {
    volatile char garbage[4096];
    for (size_t i = 0; i < sizeof garbage; i++) {
        garbage[i] = 0;
    }
    __asm__ volatile("xor %%ebx, %%ebx; xor %%r12d, %%r12d; xor %%r13d, %%r13d;"
                     "xor %%r14d, %%r14d; xor %%r15d, %%r15d;"
                     "pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2;"
                     "pxor %%xmm3, %%xmm3; pxor %%xmm4, %%xmm4; pxor %%xmm5, %%xmm5"
                     :
                     :
                     : "rbx", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "memory");
}
