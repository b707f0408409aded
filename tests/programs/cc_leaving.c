// Functions that are left without returning, as `leakline cc` sees them: a comment
// `loss(NAME): CAUSE SLOT` marks the line that loses what the function NAME allocated.
#include <setjmp.h>

#include "corpus.h"

struct pair {
    char* first;
    char* second;
};

static jmp_buf place;
static char* list;
static volatile int fails = 1;

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
// Missed by the checker: what the jump leaves is not followed.
ALLOCATES(FN_in_a_frame_that_waits_bad)
// Missed by the checker: what the jump leaves is not followed.
ALLOCATES(FN_taken_from_memory_bad)
// Missed by the checker: what the jump leaves is not followed.
ALLOCATES(FN_in_a_member_bad)
ALLOCATES(kept_ok)
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

// Their callers cannot know that they do not come back.
SCENE void check_text(void) {
    if (fails) {
        longjmp(place, 1); // loss(FN_in_a_frame_that_waits_bad): out-of-scope -
    }
}

SCENE void check_list(void) {
    if (fails) {
        longjmp(place, 1); // loss(FN_taken_from_memory_bad): out-of-scope -
    }
}

SCENE void check_pair(struct pair* pair) {
    KEEP(pair);
    if (fails) {
        longjmp(place, 1); // loss(FN_in_a_member_bad): out-of-scope -
    }
}

SCENE void wait_for_check(void) {
    char* text = FN_in_a_frame_that_waits_bad();
    KEEP(text);
    check_text();
    free(text);
}

SCENE void take(void) {
    list = FN_taken_from_memory_bad();
    char* taken = list;
    list = NULL;
    check_list();
    free(taken);
}

SCENE void fill(void) {
    struct pair pair = {FN_in_a_member_bad(), kept_ok()};
    list = pair.second;
    check_pair(&pair);
    free(pair.first);
}

int main(void) {
    static void (*const scenes[])(void) = {
        jump, parse, parse_more, explain, lose_before, wait_for_check, take, fill};
    for (volatile size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (setjmp(place) == 0) {
            scenes[i]();
        }
    }
    scrub();
    return 0;
}
