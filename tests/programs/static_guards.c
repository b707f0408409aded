// Conditions that go together: two globals, or a flag and a pointer, decide at once
// whether a call allocates and whether a later one frees.
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
    char* text;
    int size;
};

bool keep_context;
FILE* second_log;

static bool print_message(struct message* m, const char* format, va_list arguments) {
    char small[64];
    char* to = small;
    int size = sizeof small;
    if (!keep_context && second_log == NULL) {
        vfprintf(stdout, format, arguments);
        return true;
    }
    if (m->size) {
        to = m->text;
        size = m->size;
    }
    int written = vsnprintf(to, size, format, arguments);
    if (written >= size) {
        m->text = realloc(m->text, written + 1);
        m->size = written + 1;
        return false;
    }
    fputs(to, stdout);
    free(m->text);
    return true;
}

void repeated_until_it_fits_ok(const char* format, ...) {
    struct message m = {NULL, 0};
    bool done;
    do {
        va_list arguments;
        va_start(arguments, format);
        done = print_message(&m, format, arguments);
        va_end(arguments);
    } while (!done);
}

void given_up_after_one_try_bad(const char* format, ...) {
    struct message m = {NULL, 0};
    va_list arguments;
    va_start(arguments, format);
    print_message(&m, format, arguments);
    va_end(arguments);
}

int colour, shape;

static char* name_of_both(void) {
    if (colour > 0 || shape > 0) {
        return malloc(16);
    }
    return NULL;
}

void both_asked_again_ok(void) {
    char* name = name_of_both();
    if (colour <= 0 && shape <= 0) {
        return;
    }
    free(name);
}

void one_asked_again_bad(void) {
    char* name = name_of_both();
    if (colour <= 0) {
        return;
    }
    free(name);
}
