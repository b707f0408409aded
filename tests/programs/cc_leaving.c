// Functions that are left without returning, as `leakline cc` sees them: a comment
// `loss(NAME): CAUSE SLOT` marks the line that loses what the function NAME allocated.
#include <setjmp.h>

#include "corpus.h"

#define ALLOCATES(name)                                                                \
    __attribute__((noinline)) static void* name(void) {                                \
        void* block = malloc(24);                                                      \
        KEEP(block);                                                                   \
        return block;                                                                  \
    }
#define SCENE __attribute__((noinline)) static

static jmp_buf place;

// Missed by the checker: for it a path ends in a call that does not return.
ALLOCATES(FN_in_the_jumping_frame_bad)
// Missed by the checker: for it a path ends in a call that does not return.
ALLOCATES(FN_before_an_endless_call_bad)
// Missed by the checker: for it a path ends in a call that does not return.
ALLOCATES(FN_before_a_call_of_one_bad)
// Missed by the checker: for it a path ends in a call that does not return.
ALLOCATES(FN_passed_to_one_bad)
// Missed by the checker: for it a path ends in a call that does not return.
ALLOCATES(FN_lost_before_bad)
ALLOCATES(freed_ok)

SCENE void jump(void) {
    char* own = FN_in_the_jumping_frame_bad();
    KEEP(own);
    longjmp(place, 1); // loss(FN_in_the_jumping_frame_bad): out-of-scope own
}

__attribute__((noreturn)) SCENE void fail(const char* why) {
    KEEP(why);
    longjmp(place, 1);
}

SCENE void parse(void) {
    char* text = FN_before_an_endless_call_bad();
    char* freed = freed_ok();
    KEEP(text);
    free(freed);
    fail(""); // loss(FN_before_an_endless_call_bad): out-of-scope text
}

// Nobody says that it does not return.
SCENE void fail_always(const char* why) {
    fail(why);
}

SCENE void parse_more(void) {
    char* text = FN_before_a_call_of_one_bad();
    KEEP(text);
    fail_always(""); // loss(FN_before_a_call_of_one_bad): out-of-scope text
}

SCENE void explain(void) {
    char* why = FN_passed_to_one_bad();
    fail(why); // loss(FN_passed_to_one_bad): out-of-scope why
}

// A register keeps the address as if a variable still had it.
SCENE void lose_before(void) {
    char* first = FN_lost_before_bad();
    __asm__ volatile("movq %0, %%rbx" : : "r"(first) : "rbx");
    first = NULL; // loss(FN_lost_before_bad): overwritten first
    KEEP(first);
    fail("");
}

int main(void) {
    static void (*const scenes[])(void) = {jump, parse, parse_more, explain,
                                           lose_before};
    for (volatile size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (setjmp(place) == 0) {
            scenes[i]();
        }
    }
    scrub();
    return 0;
}
