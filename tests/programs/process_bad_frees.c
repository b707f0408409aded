// Frees what is no block, in the way that its argument names, and goes on.
#include <stdio.h>

#include "corpus.h"

// A number, so that the compiler does not know what is freed.
CASE void free_at(uintptr_t address) {
    free((void*)address);
}

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "";
    char local[16];
    char* block = malloc(32);
    uintptr_t freed = (uintptr_t)malloc(32);
    free_at(freed);
    if (strcmp(way, "twice") == 0) {
        free_at(freed);
        free_at(freed);
    } else if (strcmp(way, "loop") == 0) {
        for (volatile int i = 0; i < 3; i++) {
            free_at(freed);
        }
    } else if (strcmp(way, "inside") == 0) {
        free_at((uintptr_t)block + 8);
    } else if (strcmp(way, "foreign") == 0) {
        free_at((uintptr_t)local);
    }
    strcpy(block, "whole");
    puts(block);
    free(block);
    return 0;
}
