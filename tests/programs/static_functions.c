// Ownership across functions: out-parameters, wrappers, callbacks, recursion.
#define _GNU_SOURCE
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int maybe(void);
void unknown_keeper(void* object);

static int make_or_fail(char** out) {
    char* p = malloc(8);
    if (maybe()) {
        free(p);
        return 0;
    }
    *out = p;
    return 1;
}

void out_parameter_ok(void) {
    char* p;
    if (!make_or_fail(&p)) {
        return;
    }
    free(p);
}

void out_parameter_bad(void) {
    char* p;
    if (!make_or_fail(&p)) {
        return;
    }
    if (maybe()) {
        return;
    }
    free(p);
}

void out_parameter_result_ignored_bad(void) {
    char* p = NULL;
    make_or_fail(&p);
}

static char* make(void) {
    return malloc(8);
}

void ignored_result_bad(void) {
    make();
}

void ignored_library_result_bad(void) {
    strdup("text");
}

void returned_object_ok(void) {
    char* p = make();
    free(p);
}

void returned_object_bad(void) {
    char* p = make();
    if (maybe()) {
        return;
    }
    free(p);
}

char* passed_on_ok(void) {
    char* p = make();
    return p;
}

static void release(char* p) {
    if (p != NULL) {
        free(p);
    }
}

void freed_in_callee_ok(void) {
    char* p = make();
    release(p);
}

static void looks_at(const char* p) {
    puts(p);
}

void only_looked_at_bad(void) {
    char* p = make();
    looks_at(p);
}

static void* checked_malloc(size_t size) {
    void* p = malloc(size);
    if (p == NULL) {
        abort();
    }
    return p;
}

static void checked_free(void** p) {
    free(*p);
    *p = NULL;
}

void wrappers_ok(void) {
    void* p = checked_malloc(8);
    checked_free(&p);
}

void wrappers_bad(void) {
    void* p = checked_malloc(8);
    if (maybe()) {
        return;
    }
    checked_free(&p);
}

static int takes_if_positive(char* p, int n) {
    if (n > 0) {
        free(p);
        return 1;
    }
    return 0;
}

void conditional_ownership_ok(int n) {
    char* p = make();
    if (!takes_if_positive(p, n)) {
        free(p);
    }
}

void conditional_ownership_bad(int n) {
    char* p = make();
    takes_if_positive(p, n);
}

void constant_argument_ok(void) {
    char* p = make();
    takes_if_positive(p, 5);
}

void constant_argument_bad(void) {
    char* p = make();
    takes_if_positive(p, -5);
}

static void leaks_when_positive(int n) {
    char* p = malloc(8);
    if (n > 0) {
        return;
    }
    free(p);
}

void never_brings_it_about_ok(void) {
    leaks_when_positive(-1);
    leaks_when_positive(0);
}

static void leaks_when_negative_bad(int n) {
    char* p = malloc(8);
    if (n < 0) {
        return;
    }
    free(p);
}

void brings_it_about(void) {
    leaks_when_negative_bad(-1);
}

static int level(int depth) {
    return depth < 3 ? depth : 3;
}

void computed_constant_ok(void) {
    char* p = make();
    if (level(2) == 3) {
        return;
    }
    free(p);
}

void unknown_function_keeps_ok(void) {
    char* p = make();
    unknown_keeper(p);
}

typedef void (*visitor)(char*);

static void visit(visitor call, char* p) {
    call(p);
}

static void free_visitor(char* p) {
    free(p);
}

void callback_frees_ok(void) {
    visit(free_visitor, make());
}

static const struct {
    char* (*create)(void);
    void (*destroy)(char*);
} operations = {make, release};

void function_table_ok(void) {
    char* p = operations.create();
    operations.destroy(p);
}

void function_table_bad(void) {
    char* p = operations.create();
    if (maybe()) {
        return;
    }
    operations.destroy(p);
}

static char* pick(char* a, char* b) {
    if (maybe()) {
        return a;
    }
    return b;
}

void returns_argument_ok(void) {
    char* a = make();
    char* b = pick(a, a);
    free(b);
}

static char* same(char* p) {
    return p;
}

void same_pointer_ok(void) {
    char* p = same(make());
    free(p);
}

void same_pointer_bad(void) {
    char* p = same(make());
    if (maybe()) {
        return;
    }
    free(p);
}

struct tree {
    struct tree *left, *right;
};

static void free_tree(struct tree* tree) {
    if (tree == NULL) {
        return;
    }
    free_tree(tree->left);
    free_tree(tree->right);
    free(tree);
}

static struct tree* build_tree(int depth) {
    if (depth == 0) {
        return NULL;
    }
    struct tree* tree = malloc(sizeof *tree);
    tree->left = build_tree(depth - 1);
    tree->right = build_tree(depth - 1);
    return tree;
}

void recursion_ok(void) {
    struct tree* tree = build_tree(4);
    free_tree(tree);
}

struct tree* recursion_error_bad(int depth) {
    if (depth == 0) {
        return NULL;
    }
    struct tree* tree = malloc(sizeof *tree);
    tree->left = recursion_error_bad(depth - 1);
    if (maybe()) {
        return NULL;
    }
    tree->right = NULL;
    return tree;
}

static char* format(const char* text, ...) {
    char* result = NULL;
    va_list list;
    va_start(list, text);
    if (vasprintf(&result, text, list) < 0) {
        result = NULL;
    }
    va_end(list);
    return result;
}

void variadic_wrapper_ok(void) {
    char* text = format("%d", 5);
    free(text);
}

void variadic_wrapper_bad(void) {
    char* text = format("%d", 5);
    puts(text);
}

static void fill(char** slots, int n) {
    for (int i = 0; i < n; i++) {
        slots[i] = strdup("x");
    }
}

static void clear(char** slots, int n) {
    for (int i = 0; i < n; i++) {
        free(slots[i]);
    }
}

void filled_and_cleared_ok(void) {
    char* slots[3];
    fill(slots, 3);
    clear(slots, 3);
}

static void swap(char** a, char** b) {
    char* t = *a;
    *a = *b;
    *b = t;
}

void swapped_ok(void) {
    char* a = make();
    char* b = make();
    swap(&a, &b);
    free(a);
    free(b);
}

void swapped_bad(void) {
    char* a = make();
    char* b = NULL;
    swap(&a, &b);
    free(a);
}

static void set_once(char** slot) {
    if (*slot == NULL) {
        *slot = malloc(8);
    }
}

void set_once_twice_ok(void) {
    char* p = NULL;
    set_once(&p);
    set_once(&p);
    free(p);
}

static void free_cleanup(char** p) {
    free(*p);
}

int cleanup_attribute_ok(void) {
    __attribute__((cleanup(free_cleanup))) char* p = malloc(8);
    if (maybe()) {
        return 1;
    }
    return 0;
}

struct cell {
    struct cell* link;
};

static struct cell* append(struct cell* root) {
    if (root == NULL) {
        return calloc(1, sizeof *root);
    }
    struct cell* last = root;
    while (last->link != NULL) {
        last = last->link;
    }
    last->link = append(last->link);
    return root;
}

static void append_some(struct cell** list) {
    while (maybe()) {
        *list = append(*list);
    }
}

void appended_by_recursion_ok(void) {
    struct cell* list = NULL;
    append_some(&list);
    append_some(&list);
    while (list != NULL) {
        struct cell* following = list->link;
        free(list);
        list = following;
    }
}

struct file {
    int error;
    struct file* self;
};

static void close_file(int* error, struct file* file, int abandon) {
    if (file->self != file) {
        *error = -2;
        return;
    }
    if (file->error == 3 && !abandon) {
        if (error != NULL) {
            *error = -1;
        }
        return;
    }
    if (error != NULL) {
        *error = 0;
    }
    free(file);
}

void closed_at_second_try_ok(void) {
    int error;
    struct file* file = malloc(sizeof *file);
    file->self = file;
    file->error = maybe();
    close_file(&error, file, 0);
    if (error != 0) {
        close_file(NULL, file, 1);
    }
}

void closed_at_first_try_only_bad(void) {
    int error;
    struct file* file = malloc(sizeof *file);
    file->self = file;
    file->error = maybe();
    close_file(&error, file, 0);
}

static char** merge(char** left, char** right, int n) {
    left = realloc(left, 2 * n * sizeof *left);
    memcpy(left + n, right, n * sizeof *left);
    free(right);
    return left;
}

char** contents_copied_ok(char** left, int n) {
    char** right = calloc(n, sizeof *right);
    right[0] = strdup("a");
    return merge(left, right, n);
}

static char* log_buffer;

static void log_text(const char* text) {
    if (log_buffer != NULL && maybe()) {
        free(log_buffer);
        log_buffer = NULL;
    }
    if (log_buffer == NULL) {
        log_buffer = strdup(text);
    }
}

void logging_does_not_matter_bad(void) {
    char* p = make();
    log_text("one");
    log_text("two");
    if (maybe()) {
        return;
    }
    free(p);
}

// A behaviour that looks through its argument, and one that does not, become one.
struct origin {
    char* name;
};
struct record {
    int hidden;
    struct record* next;
};
void note_name(char* name);
struct record* next_records(void);

static struct record* records_of(struct origin* origin) {
    if (origin != NULL) {
        note_name(origin->name);
    }
    return next_records();
}

void forgotten_for_hidden_records_bad(void) {
    for (struct record* each = records_of(NULL); each != NULL; each = each->next) {
        char* copy = strdup("record");
        if (each->hidden) {
            continue;
        }
        free(copy);
    }
}

void freed_for_every_record_ok(void) {
    for (struct record* each = records_of(NULL); each != NULL; each = each->next) {
        char* copy = strdup("record");
        if (each->hidden) {
            free(copy);
            continue;
        }
        free(copy);
    }
}

static int consume_if_even(char* text, int n) {
    if (n % 2 == 0) {
        free(text);
        return 0;
    }
    return -1;
}

int consumed_unless_odd_bad(const char* text, int n) {
    char* copy = malloc(64);
    strcpy(copy, text);
    return consume_if_even(copy, n);
}

static char* latest;
static size_t latest_length;

static char* get_latest(size_t* length) {
    if (latest == NULL) {
        return NULL;
    }
    if (length != NULL) {
        *length = latest_length;
    }
    return latest;
}

void set_latest(char* text, size_t length) {
    latest = text;
    latest_length = length;
}

int nowhere_to_write_bad(void) {
    if (get_latest(NULL) == NULL) {
        return 0;
    }
    char* copy = malloc(8);
    return copy[0];
}
