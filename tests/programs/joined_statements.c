// Allocations whose statements span lines, come from macros or are inlined: the
// checker, gcc and clang must mean the same line by them.
#include <string.h>

#include "corpus.h"

// clang-format off: the breaks are what is tested.
#define NEW(type, count) \
    ((type*)calloc((count), \
                   sizeof(type)))
#define COPY(text) \
    strdup( \
        text)

static char* marked(char* block, int n) {
    if (block != NULL) {
        block[0] = (char)n;
    }
    return block;
}

static inline char* made(int n) {
    return malloc(
        (size_t)n);
}

CASE void arguments_on_lines_bad(int n) {
    char* block = malloc(
        (size_t)n +
        10);
    KEEP(block);
}

CASE void value_on_next_line_bad(int n) {
    char* block =
        malloc((size_t)n);
    KEEP(block);
}

CASE void nested_call_bad(int n) {
    char* block = marked(
        malloc(
            (size_t)n),
        n);
    KEEP(block);
}

CASE void macro_bad(int n) {
    int* block = NEW(int,
                     (size_t)n);
    KEEP(block);
}

CASE void macro_of_function_bad(const char* text) {
    char* block = COPY(
        text
    );
    KEEP(block);
}

CASE void in_condition_bad(int n) {
    char* block;
    if (n > 2 &&
        (block = malloc(
             (size_t)n)) != NULL &&
        n < 100) {
        KEEP(block);
    }
}

CASE void inlined_bad(int n) {
    char* block = made(
        n);
    KEEP(block);
}
// clang-format on

int main(int argc, char** argv) {
    (void)argv;
    arguments_on_lines_bad(argc + 9);
    value_on_next_line_bad(argc + 9);
    nested_call_bad(argc + 9);
    macro_bad(argc + 9);
    macro_of_function_bad("text");
    in_condition_bad(argc + 9);
    inlined_bad(argc + 9);
    return 0;
}
