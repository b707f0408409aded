// Uses include/leakline.h; prints what leakline_mark counts.
#include <leakline.h>
#include <stdio.h>
#include <sys/mman.h>

#include "corpus.h"

CASE void lose_block_bad(void) {
    KEEP(malloc(811));
}

CASE void lose_ignored_ok(void) {
    char* block = malloc(812);
    leakline_ignore(block);
}

int main(void) {
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    unsigned long before = leakline_mark();
    lose_block_bad();
    lose_ignored_ok();
    scrub();
    printf("%lu %lu\n", before, leakline_mark());
    return 0;
}
