// Frees all that it allocates; leaks are injected from outside.
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

CASE void allocate_and_free_small(void) {
    char* block = malloc(50);
    memset(block, 1, 50);
    KEEP(block);
    free(block);
}

CASE void allocate_and_free_larger(void) {
    char* block = malloc(500);
    memset(block, 1, 500);
    KEEP(block);
    free(block);
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        allocate_and_free_small();
        allocate_and_free_larger();
    }
    return 0;
}
