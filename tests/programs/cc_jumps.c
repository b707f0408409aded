// Functions with computed jumps, where the compiler marks no scopes.
#include "corpus.h"
#include <stdlib.h>

static int turns;

// The jump out of the block leaves the scope of `value`.
// Missed by the checker: which label a computed jump takes is not known.
void FN_left_by_computed_jump_bad(void) {
    static void* const places[] = {&&take, &&end};
    for (;;) {
        goto* places[turns++ % 2];
    take:
        {
            char* value = malloc(10);
            value[0] = 1;
            // loss(FN_left_by_computed_jump_bad): out-of-scope value
            goto* places[turns++ % 2];
        }
    end:
        return;
    }
}

// What the loop declares stays when one of its blocks jumps to another.
void kept_over_computed_jump_ok(void) {
    static void* const places[] = {&&take, &&release};
    for (;;) {
        char* kept = NULL;
        goto* places[turns++ % 2];
    take:
        {
            char* copy = malloc(20);
            kept = copy;
            goto* places[turns++ % 2];
        }
    release:
        free(kept);
        return;
    }
}

// Only the value of the last turn is lost with the scope; others were overwritten.
// Missed by the checker: which label a computed jump takes is not known.
void FN_overwritten_between_jumps_bad(void) {
    static void* const places[] = {&&take, &&take_again, &&end};
    int turn = 0;
    char* held = NULL;
    goto* places[turn++];
take:
    held = malloc(30);
    goto* places[turn++];
take_again:
    held = malloc(40); // loss(FN_overwritten_between_jumps_bad): overwritten held
    goto* places[turn++];
end:
    free(held);
}

int main(void) {
    FN_left_by_computed_jump_bad();
    turns = 0;
    kept_over_computed_jump_ok();
    FN_overwritten_between_jumps_bad();
    return 0;
}
