// Leaks that stay hidden when old stack slots count as references: the block is lost in
// a function that has returned, and exit is called from frames that cover its slot.
#include <stdlib.h>

#include "corpus.h"

CASE void lost_in_callee_bad(void) {
    char* volatile first = malloc(200);
    char* volatile second = first;
    char* volatile third = second;
    KEEP(third);
}

CASE void* held_by_caller_of_exit_ok(void) {
    return malloc(201);
}

CASE void leave(void) {
    char* volatile held = held_by_caller_of_exit_ok();
    lost_in_callee_bad();
    exit(held == NULL);
}

int main(void) {
    leave();
}
