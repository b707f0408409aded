// Behaves differently in every other run: a second run does not meet the same leak.
#include <stdio.h>

#include "corpus.h"

CASE char* only_at_first_bad(void) {
    return malloc(400);
}

CASE void work(int leaks) {
    char* block = only_at_first_bad();
    KEEP(block);
    if (!leaks) {
        free(block);
    }
}

int main(int argc, char** argv) {
    if (argc < 2) {
        return 1;
    }
    FILE* mark = fopen(argv[1], "r");
    int is_first = mark == NULL;
    if (is_first) {
        mark = fopen(argv[1], "w");
    }
    fclose(mark);
    work(is_first);
    scrub();
    return is_first ? 0 : 3;
}
