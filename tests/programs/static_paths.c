// Leaks that depend on the path: early returns, error paths, switches, gotos.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int maybe(void);
void use(const char* text);

int early_return_bad(int n) {
    char* buffer = malloc(64);
    if (n > 10) {
        return -1;
    }
    free(buffer);
    return 0;
}

int early_return_before_allocation_ok(int n) {
    if (n > 10) {
        return -1;
    }
    char* buffer = malloc(64);
    free(buffer);
    return 0;
}

int freed_on_every_path_ok(int n) {
    char* buffer = malloc(64);
    if (n > 10) {
        free(buffer);
        return -1;
    }
    free(buffer);
    return 0;
}

int error_path_bad(const char* path) {
    char* copy = strdup(path);
    FILE* file = fopen(copy, "r");
    if (file == NULL) {
        return -1;
    }
    fclose(file);
    free(copy);
    return 0;
}

int error_path_ok(const char* path) {
    char* copy = strdup(path);
    FILE* file = fopen(copy, "r");
    if (file == NULL) {
        free(copy);
        return -1;
    }
    fclose(file);
    free(copy);
    return 0;
}

int goto_cleanup_ok(const char* path) {
    int result = -1;
    char* line = malloc(128);
    char* copy = NULL;
    if (maybe()) {
        goto out;
    }
    copy = strdup(path);
    if (maybe()) {
        goto out;
    }
    result = 0;
out:
    free(copy);
    free(line);
    return result;
}

int goto_cleanup_bad(const char* path) {
    int result = -1;
    char* line = malloc(128);
    char* copy = strdup(path);
    if (maybe()) {
        goto out;
    }
    result = 0;
    free(copy);
out:
    free(line);
    return result;
}

int switch_bad(int kind) {
    char* p = malloc(8);
    switch (kind) {
    case 1:
        free(p);
        return 1;
    case 2:
        return 2;
    default:
        free(p);
        return 0;
    }
}

int switch_ok(int kind) {
    char* p = malloc(8);
    switch (kind) {
    case 1:
    case 2:
        free(p);
        return 1;
    case 3:
        free(p);
        break;
    default:
        free(p);
    }
    return 0;
}

int switch_fallthrough_ok(int kind) {
    char* p = malloc(8);
    switch (kind) {
    case 1:
        use(NULL);
    case 2:
        free(p);
        return 1;
    }
    free(p);
    return 0;
}

void correlated_flag_ok(int wanted) {
    char* p = NULL;
    if (wanted) {
        p = malloc(8);
    }
    maybe();
    if (wanted) {
        free(p);
    }
}

void correlated_flag_bad(int wanted, int other) {
    char* p = NULL;
    if (wanted) {
        p = malloc(8);
    }
    if (other) {
        free(p);
    }
}

void correlated_local_flag_ok(void) {
    int owned = 0;
    char* p = NULL;
    if (maybe()) {
        p = malloc(8);
        owned = 1;
    }
    maybe();
    if (owned) {
        free(p);
    }
}

void correlated_ranges_ok(int n) {
    char* p = NULL;
    if (n > 5) {
        p = malloc(8);
    }
    if (n >= 6) {
        free(p);
    }
}

void correlated_sum_ok(int a, int b) {
    char* p = malloc(8);
    if (a + b == 7) {
        free(p);
        return;
    }
    if (a == 3 && b == 4) {
        return;
    }
    free(p);
}

void correlated_bits_ok(unsigned flags) {
    char* p = NULL;
    if (flags & 4) {
        p = malloc(8);
    }
    if ((flags & 6) == 6) {
        free(p);
        return;
    }
    if (flags & 4) {
        free(p);
    }
}

void correlated_string_ok(const char* name) {
    FILE* file = stdin;
    if (strcmp(name, "-") != 0) {
        file = fopen(name, "r");
        if (file == NULL) {
            return;
        }
    }
    use(name);
    if (strcmp(name, "-") != 0) {
        fclose(file);
    }
}

void null_check_ok(void) {
    char* p = malloc(8);
    if (p == NULL) {
        return;
    }
    free(p);
}

void free_if_not_null_ok(void) {
    char* p = maybe() ? malloc(8) : NULL;
    if (p != NULL) {
        free(p);
    }
}

void conditional_operator_bad(void) {
    char* p = maybe() ? malloc(8) : NULL;
    use(p ? "yes" : "no");
}

int constant_condition_ok(void) {
    const int debug = 0;
    char* p = malloc(8);
    if (debug) {
        return -1;
    }
    free(p);
    return 0;
}

void exit_path_ok(void) {
    char* p = malloc(8);
    if (maybe()) {
        exit(1);
    }
    free(p);
}

void abort_path_ok(void) {
    char* p = malloc(8);
    if (maybe()) {
        abort();
    }
    free(p);
}

static void die(const char* text) {
    fprintf(stderr, "%s\n", text);
    exit(2);
}

void noreturn_wrapper_ok(void) {
    char* p = malloc(8);
    if (maybe()) {
        die("no");
    }
    free(p);
}

void nested_conditions_bad(int a, int b) {
    char* p = malloc(8);
    if (a) {
        if (b) {
            free(p);
        }
    } else {
        free(p);
    }
}

void nested_conditions_ok(int a, int b) {
    char* p = malloc(8);
    if (a) {
        if (b) {
            free(p);
        } else {
            free(p);
        }
    } else {
        free(p);
    }
}

int short_circuit_bad(const char* name) {
    char* copy = strdup(name);
    if (maybe() || maybe()) {
        return 0;
    }
    free(copy);
    return 1;
}
