// Blocks that are resized: to nothing, which releases them, to sizes that no block can
// have, which leaves them, and by functions that hand the size through.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>

extern int maybe(void);
extern size_t some_size(void);

static volatile size_t nothing = 0;
static volatile size_t everything = SIZE_MAX;

void to_nothing_ok(void) {
    char* p = malloc(8);
    p = realloc(p, 0);
}

void to_volatile_nothing_ok(void) {
    char* p = malloc(8);
    p = realloc(p, nothing);
}

void to_no_elements_ok(void) {
    char* p = malloc(8);
    p = reallocarray(p, 0, 16);
}

void nothing_of_null_bad(void) {
    char* p = realloc(NULL, 0);
    p[0] = 0;
}

void to_something_bad(void) {
    char* p = malloc(8);
    p = realloc(p, 16);
}

static void* resized(void* old, size_t bytes) {
    return realloc(old, bytes);
}

static void* resized_array(void* old, size_t count, size_t bytes) {
    void* block = reallocarray(old, count, bytes);
    if (block == NULL && (old == NULL || (count != 0 && bytes != 0))) {
        abort();
    }
    return block;
}

void to_nothing_by_wrapper_ok(void) {
    char* p = malloc(8);
    p = resized(p, 0);
}

void to_something_by_wrapper_bad(void) {
    char* p = malloc(8);
    p = resized(p, 16);
}

void freed_twice_bad(void) {
    char* p = malloc(8);
    resized(p, 0);
    free(p);
}

static size_t length(char** list) {
    size_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    return count;
}

static char** appended(char** list, char* text) {
    size_t count = length(list);
    list = resized(list, (count + 2) * sizeof *list);
    list[count] = text;
    list[count + 1] = NULL;
    return list;
}

char** stored_in_resized_ok(char** list) {
    return appended(list, malloc(8));
}

static char** also_appended(char** list, char* text) {
    size_t count = length(list);
    list = resized_array(list, count + 2, sizeof *list);
    list[count] = text;
    list[count + 1] = NULL;
    return list;
}

char** stored_in_resized_array_ok(char** list) {
    return also_appended(list, malloc(8));
}

void freed_where_null_came_back_ok(void) {
    char* p = malloc(8);
    char* q = realloc(p, some_size());
    free(q == NULL ? p : q);
}

void to_any_size_bad(void) {
    char* p = malloc(8);
    p = realloc(p, some_size());
    if (p != NULL && maybe()) {
        return;
    }
    free(p);
}

void refused_and_overwritten_bad(void) {
    char* p = malloc(8);
    p = realloc(p, SIZE_MAX);
}

void refused_elements_bad(void) {
    char* p = malloc(8);
    p = reallocarray(p, everything / 2, 3);
}

void refused_and_freed_ok(void) {
    char* p = malloc(8);
    if (realloc(p, everything) == NULL) {
        free(p);
    }
}

void never_allocated_ok(void) {
    char* p = malloc(everything);
    if (p != NULL) {
        p[0] = 0;
    }
}

void never_so_many_ok(void) {
    char* p = calloc(everything, 2);
    if (p != NULL) {
        p[0] = 0;
    }
}
