// A quarter of a million different stacks allocate and free; the few blocks that stay
// keep theirs, whether they were allocated before, between or after the others.
#include "corpus.h"

static char* kept[3];

CASE void before_the_others_bad(void) {
    KEEP(malloc(11));
}

CASE void between_the_others_bad(void) {
    KEEP(malloc(12));
}

CASE void after_the_others_bad(void) {
    KEEP(malloc(13));
}

CASE void before_the_others_ok(void) {
    kept[0] = malloc(21);
}

CASE void between_the_others_ok(void) {
    kept[1] = malloc(22);
}

CASE void after_the_others_ok(void) {
    kept[2] = malloc(23);
}

static unsigned leaves;

__attribute__((noipa)) static void leaf(void) {
    char* block = malloc(32);
    KEEP(block);
    free(block);
    if (++leaves == 150000) {
        between_the_others_bad();
        between_the_others_ok();
    }
}

// Calls the function below from eight places.
#define LEVEL(name, below)                                                             \
    __attribute__((noipa)) static void name(void) {                                    \
        below();                                                                       \
        below();                                                                       \
        below();                                                                       \
        below();                                                                       \
        below();                                                                       \
        below();                                                                       \
        below();                                                                       \
        below();                                                                       \
        KEEP(&leaves);                                                                 \
    }

LEVEL(level_6, leaf)
LEVEL(level_5, level_6)
LEVEL(level_4, level_5)
LEVEL(level_3, level_4)
LEVEL(level_2, level_3)
LEVEL(level_1, level_2)

int main(void) {
    before_the_others_bad();
    before_the_others_ok();
    level_1();
    after_the_others_bad();
    after_the_others_ok();
    scrub();
    KEEP(kept);
    return 0;
}
