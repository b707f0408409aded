// One line that loses blocks by several chains of calls, a recursion, and a function
// that is called by its address only.
#include "corpus.h"

#define APART __attribute__((noinline)) static

APART void drop(size_t size) {
    char* p = malloc(size);
    KEEP(p);
}

APART void through_left(void) {
    drop(100);
    KEEP(&drop);
}

APART void through_right(void) {
    drop(101);
    KEEP(&drop);
}

// Missed by the checker: a recursion must have come to its end in one call.
APART int FN_recur_bad(int depth) {
    char* p = malloc(102);
    KEEP(p);
    return depth > 0 ? FN_recur_bad(depth - 1) + 1 : 0;
}

APART void called_by_address(void) {
    char* p = malloc(103);
    KEEP(p);
}

int main(void) {
    through_left();
    through_right();
    KEEP(FN_recur_bad(5));
    void (*volatile chosen)(void) = called_by_address;
    chosen();
    scrub();
    return 0;
}
