// Loops: continue, break, overwritten pointers, lists and arrays.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int maybe(void);
int next(void);
void use(const char* text);

struct node {
    struct node* next;
    char* name;
};

void continue_skips_free_bad(int n) {
    for (int i = 0; i < n; i++) {
        char* p = malloc(8);
        if (maybe()) {
            continue;
        }
        free(p);
    }
}

void continue_after_free_ok(int n) {
    for (int i = 0; i < n; i++) {
        char* p = malloc(8);
        free(p);
        if (maybe()) {
            continue;
        }
        next();
    }
}

void break_skips_free_bad(void) {
    while (maybe()) {
        char* p = malloc(8);
        if (maybe()) {
            break;
        }
        free(p);
    }
}

void break_with_free_after_loop_ok(void) {
    char* p = NULL;
    while (maybe()) {
        p = malloc(8);
        if (maybe()) {
            break;
        }
        free(p);
        p = NULL;
    }
    free(p);
}

void overwritten_in_loop_bad(int n) {
    char* p = NULL;
    for (int i = 0; i < n; i++) {
        p = malloc(8);
    }
    free(p);
}

void freed_before_overwritten_ok(int n) {
    char* p = NULL;
    for (int i = 0; i < n; i++) {
        free(p);
        p = malloc(8);
    }
    free(p);
}

void allocated_once_in_loop_ok(int n) {
    char* p = NULL;
    for (int i = 0; i < n; i++) {
        if (p == NULL) {
            p = malloc(8);
        }
        use(p);
    }
    free(p);
}

void do_while_ok(void) {
    char* p;
    do {
        p = malloc(8);
        use("x");
        free(p);
    } while (maybe());
}

void do_while_continue_bad(void) {
    char* p;
    do {
        p = malloc(8);
        if (maybe()) {
            continue;
        }
        free(p);
    } while (maybe());
}

void constant_bound_ok(void) {
    char* items[4];
    for (int i = 0; i < 4; i++) {
        items[i] = malloc(8);
    }
    for (int i = 0; i < 4; i++) {
        free(items[i]);
    }
}

void array_of_pointers_bad(void) {
    char* items[2];
    items[0] = malloc(8);
    items[1] = malloc(8);
    free(items[0]);
}

void array_of_pointers_ok(void) {
    char* items[2];
    items[0] = malloc(8);
    items[1] = malloc(8);
    free(items[0]);
    free(items[1]);
}

void array_variable_bound_ok(int n) {
    char** items = malloc(n * sizeof(char*));
    for (int i = 0; i < n; i++) {
        items[i] = malloc(8);
    }
    for (int i = 0; i < n; i++) {
        free(items[i]);
    }
    free(items);
}

void array_elements_forgotten_bad(int n) {
    char** items = malloc(n * sizeof(char*));
    for (int i = 0; i < n; i++) {
        items[i] = malloc(8);
    }
    free(items);
}

void list_built_and_freed_ok(int n) {
    struct node* head = NULL;
    for (int i = 0; i < n; i++) {
        struct node* node = malloc(sizeof *node);
        node->next = head;
        node->name = NULL;
        head = node;
    }
    while (head != NULL) {
        struct node* following = head->next;
        free(head);
        head = following;
    }
}

void list_built_and_dropped_bad(int n) {
    struct node* head = NULL;
    for (int i = 0; i < n; i++) {
        struct node* node = malloc(sizeof *node);
        node->next = head;
        node->name = NULL;
        head = node;
    }
}

void list_names_forgotten_bad(int n) {
    struct node* head = NULL;
    for (int i = 0; i < n; i++) {
        struct node* node = malloc(sizeof *node);
        node->next = head;
        node->name = strdup("name");
        head = node;
    }
    while (head != NULL) {
        struct node* following = head->next;
        free(head);
        head = following;
    }
}

void list_with_names_ok(int n) {
    struct node* head = NULL;
    for (int i = 0; i < n; i++) {
        struct node* node = malloc(sizeof *node);
        node->next = head;
        node->name = strdup("name");
        head = node;
    }
    while (head != NULL) {
        struct node* following = head->next;
        free(head->name);
        free(head);
        head = following;
    }
}

static void free_nodes(struct node* head) {
    while (head != NULL) {
        struct node* following = head->next;
        free(head);
        head = following;
    }
}

static struct node* make_nodes(int n) {
    struct node* head = NULL;
    while (n-- > 0) {
        struct node* node = calloc(1, sizeof *node);
        node->next = head;
        head = node;
    }
    return head;
}

void list_through_functions_ok(void) {
    struct node* head = make_nodes(3);
    free_nodes(head);
}

void list_through_functions_bad(void) {
    struct node* head = make_nodes(3);
    if (maybe()) {
        return;
    }
    free_nodes(head);
}

void appended_at_tail_ok(int n) {
    struct node* head = NULL;
    struct node** tail = &head;
    for (int i = 0; i < n; i++) {
        struct node* node = calloc(1, sizeof *node);
        *tail = node;
        tail = &node->next;
    }
    free_nodes(head);
}

static struct node* last_of(struct node* list) {
    while (list->next) {
        list = list->next;
    }
    return list;
}

static struct node* with_name_at_end(struct node* list, char* name) {
    struct node* node = malloc(sizeof *node);
    node->next = NULL;
    node->name = name;
    if (list == NULL) {
        return node;
    }
    last_of(list)->next = node;
    return list;
}

void name_added_to_a_list_ok(struct node** lists, int which) {
    lists[which] = with_name_at_end(lists[which], strdup("name"));
}

void name_beside_a_list_bad(struct node** lists, int which) {
    char* name = strdup("name");
    lists[which] = with_name_at_end(lists[which], NULL);
    name[0] = 'N';
}

int search_returns_inside_loop_bad(int n) {
    char* key = malloc(8);
    for (int i = 0; i < n; i++) {
        if (next() == i) {
            return i;
        }
    }
    free(key);
    return -1;
}

int search_returns_inside_loop_ok(int n) {
    char* key = malloc(8);
    for (int i = 0; i < n; i++) {
        if (next() == i) {
            free(key);
            return i;
        }
    }
    free(key);
    return -1;
}

void nested_loops_ok(int n, int m) {
    for (int i = 0; i < n; i++) {
        char* row = malloc(8);
        for (int j = 0; j < m; j++) {
            if (maybe()) {
                break;
            }
            row[0] = (char)j;
        }
        free(row);
    }
}

void nested_loops_bad(int n, int m) {
    for (int i = 0; i < n; i++) {
        char* row = malloc(8);
        for (int j = 0; j < m; j++) {
            if (maybe()) {
                return;
            }
        }
        free(row);
    }
}

void pointer_walks_ok(const char* text) {
    char* copy = strdup(text);
    for (char* p = copy; *p != '\0'; p++) {
        *p = ' ';
    }
    free(copy);
}

void pointer_walks_bad(const char* text) {
    char* copy = strdup(text);
    while (*copy == ' ') {
        copy++;
    }
    use("done");
}

void infinite_loop_ok(void) {
    char* p = malloc(8);
    for (;;) {
        p[0] = (char)next();
    }
}

static char* after_digits(char* text, char** name) {
    char* p = text;
    while (*p >= '0' && *p <= '9') {
        p++;
    }
    *name = strdup(text);
    return p;
}

void moved_along_a_text_ok(char* text) {
    char* name;
    if (after_digits(text, &name) != NULL) {
        free(name);
    }
}

struct growing {
    char* text;
    size_t length;
};

static int read_all(FILE* file, struct growing* all) {
    char piece[64];
    all->text = NULL;
    all->length = 0;
    do {
        size_t count = fread(piece, 1, sizeof piece, file);
        if (ferror(file)) {
            free(all->text);
            return -1;
        }
        if (count != 0) {
            all->text = realloc(all->text, all->length + count);
            memcpy(all->text + all->length, piece, count);
            all->length += count;
        }
    } while (!feof(file));
    return 0;
}

void no_text_without_length_ok(FILE* file) {
    struct growing all;
    if (read_all(file, &all) == 0 && all.length != 0) {
        free(all.text);
    }
}

void short_text_bad(FILE* file) {
    struct growing all;
    if (read_all(file, &all) == 0 && all.length > 2) {
        free(all.text);
    }
}

#define DOUBLED(n) ((n) += (n), (n) += (n), (n) += (n), (n) += (n), (n) += (n))

// Each sum mentions the last one twice: looked into to the end, this takes for ever.
void sums_of_sums_ok(const char* text) {
    char* copy = strdup(text);
    size_t n = strlen(text);
    DOUBLED(n);
    DOUBLED(n);
    DOUBLED(n);
    DOUBLED(n);
    DOUBLED(n);
    DOUBLED(n);
    if (n > 7) {
        copy[0] = '\0';
    }
    free(copy);
}
