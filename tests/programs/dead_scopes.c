// Blocks that only variables of ended scopes hold while their function still runs.
// Built without optimisation; a mark of the heap alone calls all of them reachable.
#include <stdlib.h>

#include "corpus.h"

struct pair {
    char* first;
    char* second;
};

// Missed by the checker: where a scope ends without a return is not in the facts.
CASE char* FN_scope_ended_bad(void) {
    return malloc(10);
}

// Missed by the checker: where a scope ends without a return is not in the facts.
CASE struct pair FN_members_of_ended_scope_bad(void) {
    return (struct pair){malloc(20), malloc(21)};
}

// Missed by the checker: where a scope ends without a return is not in the facts.
CASE char* FN_loop_ended_bad(void) {
    return malloc(30);
}

CASE char* scope_open_ok(void) {
    return malloc(40);
}

CASE char* function_scope_ok(void) {
    return malloc(50);
}

CASE char* also_held_by_live_variable_ok(void) {
    return malloc(60);
}

CASE void leave(void) {
    char* held = function_scope_ok();
    char* both = NULL;
    {
        char* ended = FN_scope_ended_bad();
        KEEP(ended);
        struct pair members = FN_members_of_ended_scope_bad();
        KEEP(members.first);
        char* shared = also_held_by_live_variable_ok();
        both = shared;
    } // loss(FN_scope_ended_bad): out-of-scope
    // loss(FN_members_of_ended_scope_bad): out-of-scope
    for (int round = 0; round < 1; round++) {
        char* inside = FN_loop_ended_bad();
        KEEP(inside);
    } // loss(FN_loop_ended_bad): out-of-scope
    {
        char* open = scope_open_ok();
        KEEP(both);
        exit(held == NULL || open == NULL);
    }
}

int main(void) {
    leave();
}
