// Frees or resizes what is no block, in the way that its argument names, and goes on.
#include <errno.h>
#include <stdio.h>

#include "corpus.h"

// A number, so that the compiler does not know what is freed.
CASE void free_at(uintptr_t address) {
    free((void*)address);
}

// Must fail and leave what is there alone.
CASE void resize_at(uintptr_t address) {
    errno = 0;
    if (realloc((void*)address, 100) != NULL || errno != ENOMEM) {
        abort();
    }
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
    } else if (strcmp(way, "resized") == 0) {
        resize_at(freed);
    } else if (strcmp(way, "resized inside") == 0) {
        resize_at((uintptr_t)block + 8);
    } else if (strcmp(way, "foreign resized") == 0) {
        resize_at((uintptr_t)local);
    } else if (strcmp(way, "resized to nothing") == 0) {
        free(realloc((void*)freed, 0));
    }
    strcpy(block, "whole");
    puts(block);
    free(block);
    return 0;
}
