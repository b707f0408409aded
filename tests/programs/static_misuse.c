// Double free, use after free, mismatched release.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int maybe(void);

void double_free_bad(void) {
    char* p = malloc(8);
    free(p);
    free(p);
}

void double_free_on_a_path_bad(void) {
    char* p = malloc(8);
    if (maybe()) {
        free(p);
    }
    free(p);
}

void freed_and_cleared_ok(void) {
    char* p = malloc(8);
    free(p);
    p = NULL;
    free(p);
}

void freed_on_exclusive_paths_ok(int n) {
    char* p = malloc(8);
    if (n > 0) {
        free(p);
    }
    if (n <= 0) {
        free(p);
    }
}

void double_free_through_alias_bad(void) {
    char* p = malloc(8);
    char* q = p;
    free(p);
    free(q);
}

static void release(char* p) {
    free(p);
}

void double_free_through_callee_bad(void) {
    char* p = malloc(8);
    release(p);
    free(p);
}

void double_fclose_bad(const char* path) {
    FILE* file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    fclose(file);
    fclose(file);
}

char use_after_free_bad(void) {
    char* p = malloc(8);
    p[0] = 'x';
    free(p);
    return p[0];
}

struct node {
    struct node* next;
};

void use_next_after_free_bad(struct node* head) {
    while (head != NULL) {
        free(head);
        head = head->next;
    }
}

void next_read_before_free_ok(struct node* head) {
    while (head != NULL) {
        struct node* next = head->next;
        free(head);
        head = next;
    }
}

void used_in_callee_after_free_bad(void) {
    char* p = malloc(8);
    free(p);
    puts(p);
}

void compared_after_free_ok(void) {
    char* p = malloc(8);
    char* q = malloc(8);
    free(p);
    if (p == q) {
        maybe();
    }
    free(q);
}

void mismatched_release_bad(const char* path) {
    FILE* file = fopen(path, "r");
    free(file);
}

void mismatched_other_way_bad(void) {
    char* p = malloc(8);
    fclose((FILE*)p);
}

void matching_release_ok(const char* path) {
    FILE* file = fopen(path, "r");
    if (file) {
        fclose(file);
    }
}

void reused_variable_ok(void) {
    char* p = malloc(8);
    free(p);
    p = malloc(8);
    free(p);
}
