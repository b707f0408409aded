// A small and a large container, each freed with the last reference in it.
#include "corpus.h"

// Missed by the checker: an element at an unknown index may be another one.
CASE char* FN_in_small_bad(void) {
    return malloc(500);
}

// Missed by the checker: an element at an unknown index may be another one.
CASE char* FN_in_large_bad(void) {
    return malloc(501);
}

CASE void fill_and_free(size_t count, char* (*make)(void)) {
    char** table = calloc(count, sizeof *table);
    table[count / 2] = make();
    KEEP(table);
    scrub();
    free(table);
}

int main(void) {
    fill_and_free(8, FN_in_small_bad);
    fill_and_free(8192, FN_in_large_bad);
    scrub();
    return 0;
}
