// An empty function can be given a body; any other is left as it is.
#include "patch/redirect.h"

#include "check.h"

void empty_function(void);
void full_function(void);

__asm__(".text\n"
        ".balign 16\n"
        ".globl empty_function\n"
        "empty_function: ret\n"
        ".balign 16\n"
        ".globl full_function\n"
        "full_function: nop\n"
        "ret\n"
        ".balign 16\n");

static int calls;

static void count_call(void) {
    calls++;
}

static void test_an_empty_function_is_redirected(void) {
    empty_function();
    CHECK(calls == 0);
    CHECK(ll_redirect_empty((uintptr_t)empty_function, count_call));
    empty_function();
    empty_function();
    CHECK(calls == 2);
}

static void test_another_function_is_left_alone(void) {
    CHECK(!ll_redirect_empty((uintptr_t)full_function, count_call));
    CHECK(!ll_redirect_empty((uintptr_t)empty_function + 1, count_call));
    full_function();
    CHECK(calls == 2);
}

int main(void) {
    test_an_empty_function_is_redirected();
    test_another_function_is_left_alone();
    return failures != 0;
}
