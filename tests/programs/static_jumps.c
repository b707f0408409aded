// setjmp and longjmp: the way back to where the jump was prepared.
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf back;

static void fail(void) {
    longjmp(back, 1);
}

int freed_on_both_returns_ok(int n) {
    char* volatile text = malloc(8);
    if (setjmp(back)) {
        free(text);
        return -1;
    }
    if (n > 3) {
        fail();
    }
    free(text);
    return 0;
}

int forgotten_on_second_return_bad(int n) {
    char* text = malloc(8);
    if (setjmp(back)) {
        return -1;
    }
    if (n > 3) {
        fail();
    }
    free(text);
    return 0;
}

int allocated_after_setjmp_ok(int n) {
    char* text;
    if (setjmp(back)) {
        return -1;
    }
    text = malloc(8);
    text[0] = (char)n;
    free(text);
    return n;
}

// The jump is taken as the end of the path: what it skips is not looked for.
int FN_jumped_over_the_release_bad(int n) {
    char* text = malloc(8);
    if (n > 3) {
        fail();
    }
    free(text);
    return 0;
}
