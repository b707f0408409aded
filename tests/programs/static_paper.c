// The examples of Xu and Zhang's paper, each with its own function names.
#define _GNU_SOURCE
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int maybe(void);

// Figure 1: of the two returns of `foo`, only the second one leaks.
static int malloc_arg1(int** p) {
    int* t = malloc(8);
    if (!t) {
        return 0;
    } else {
        *p = t;
        return 1;
    }
}

static int malloc_arg2(int** p) {
    int* t = malloc(8);
    if (!t) {
        assert(0);
    }
    *p = t;
    if (maybe()) {
        return 0;
    } else {
        return 1;
    }
}

void figure1_first_return_ok(void) {
    int* p;
    int r = malloc_arg1(&p);
    if (!r) {
        return;
    } else {
        free(p);
    }
}

void figure1_second_return_bad(void) {
    int* p;
    int q = malloc_arg2(&p);
    if (!q) {
        return;
    } else {
        free(p);
    }
}

// Figure 3: four ways to escape.
void* figure3_returned_ok(void) {
    void* p = malloc(8);
    return p;
}

static void* figure3_global;

void figure3_escaped_by_global_ok(void) {
    figure3_global = malloc(8);
}

void figure3_escaped_by_argument_ok(void** p) {
    *p = malloc(10);
}

struct list {
    struct list* next;
};

static struct list* figure3_head;

void figure3_escaped_by_unknown_ok(void) {
    struct list* n = malloc(sizeof(struct list));
    figure3_head->next = n;
}

// Figure 5: the return value says whether memory was allocated.
static int figure5_foo(int** p) {
    int* t = malloc(8);
    if (t) {
        *p = t;
        return 1;
    } else {
        return 0;
    }
}

void figure5_ok(void) {
    int* p;
    if (figure5_foo(&p)) {
        free(p);
    }
}

void figure5_bad(void) {
    int* p;
    if (figure5_foo(&p) && maybe()) {
        free(p);
    }
}

// Figure 6: allocated only when the global is null.
static int* figure6_g;

static void figure6_bar(void) {
    if (!figure6_g) {
        figure6_g = malloc(8);
    }
}

void figure6_ok(void) {
    figure6_bar();
    figure6_bar();
    free(figure6_g);
    figure6_g = NULL;
}

void figure6_bad(void) {
    figure6_bar();
    figure6_g = NULL;
    figure6_bar();
}

// Figure 7: the return value has nothing to do with the allocation.
static int figure7_foo(int** p, int x) {
    *p = malloc(8);
    if (x > 3) {
        return 1;
    } else {
        return 0;
    }
}

void figure7_bad(int x) {
    int* p;
    if (figure7_foo(&p, x)) {
        free(p);
    }
}

void figure7_ok(int x) {
    int* p;
    figure7_foo(&p, x);
    free(p);
}

// Figure 9: which 2.16, a `continue` that skips the free.
static char* find_command_in_path(const char* name) {
    return maybe() ? strdup(name) : NULL;
}

int figure9_path_search_bad(int in_home, int skip_tilde, const char* name) {
    int next = 0;
    char* result;
    do {
        result = find_command_in_path(name);
        if (result) {
            if (maybe()) {
                next = 0;
            } else if (in_home) {
                if (skip_tilde) {
                    next = 1;
                    continue;
                }
            }
            free(result);
        }
    } while (maybe());
    return next;
}

int figure9_mended_ok(int in_home, int skip_tilde, const char* name) {
    int next = 0;
    char* result;
    do {
        result = find_command_in_path(name);
        if (result) {
            if (in_home && skip_tilde) {
                next = 1;
                free(result);
                continue;
            }
            free(result);
        }
    } while (maybe());
    return next;
}

// Figure 10: wget 1.10.2, a response line that is not freed.
static int ftp_response(int socket, char** line) {
    if (socket < 0) {
        return 1;
    }
    *line = strdup("227 (1,2,3,4,5,6)");
    return 0;
}

int figure10_ftp_pasv_bad(int socket) {
    char* respline;
    int err = ftp_response(socket, &respline);
    if (err != 0) {
        return err;
    }
    if (*respline != '2') {
        free(respline);
        return 2;
    }
    char* s = respline;
    for (s += 4; *s && !(*s >= '0' && *s <= '9'); s++) {
    }
    if (!*s) {
        return 3;
    }
    free(respline);
    return 0;
}

int figure10_mended_ok(int socket) {
    char* respline;
    int err = ftp_response(socket, &respline);
    if (err != 0) {
        return err;
    }
    char* s = respline;
    for (s += 4; *s && !(*s >= '0' && *s <= '9'); s++) {
    }
    if (!*s) {
        free(respline);
        return 3;
    }
    free(respline);
    return 0;
}

// Table 2: models that return a number, a pointer, or an argument.
void table2_ok(const char* text) {
    char* s = malloc(64);
    s[0] = '\0';
    char* t = strcat(s, text);
    if (random() > 5 && strchr(t, '.')) {
        free(t);
        return;
    }
    free(s);
}

void table2_bad(const char* text) {
    char* s = malloc(64);
    s[0] = '\0';
    char* t = strcat(s, text);
    if (random() > 5) {
        return;
    }
    free(t);
}
