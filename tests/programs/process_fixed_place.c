// Takes the address of malloc: in a program linked to a fixed place that is a stub of
// its own, although another library serves it.
#include <stdio.h>

#include "corpus.h"

static void* (*volatile take)(size_t);

int main(void) {
    take = malloc;
    free(take(10));
    puts("fixed");
    return 0;
}
