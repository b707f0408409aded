// Memory that is used and memory that is not, for lens `pages`. Function names are the
// verdicts: blocks allocated by `*_stale` are idle from the start of the work on,
// those by `*_never_used` are never touched, those by `*_in_use` are touched all the
// time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "corpus.h"

enum { NODES = 20000, LARGE_BYTES = 8 << 20 };

struct node {
    struct node* next;
    char text[40];
};

static struct node* allocate_node(struct node* next) {
    struct node* node = malloc(sizeof *node);
    memset(node->text, 'x', sizeof node->text);
    node->next = next;
    return node;
}

CASE struct node* list_stale(struct node* next) {
    return allocate_node(next);
}

CASE struct node* list_in_use(struct node* next) {
    return allocate_node(next);
}

CASE char* array_stale(void) {
    return memset(malloc(LARGE_BYTES), 1, LARGE_BYTES);
}

CASE char* array_never_used(void) {
    return malloc(LARGE_BYTES);
}

CASE char* array_in_use(void) {
    return memset(malloc(LARGE_BYTES), 1, LARGE_BYTES);
}

static struct node* stale;
static struct node* in_use;
static char* arrays[3];

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long touch_what_is_in_use(void) {
    long sum = 0;
    for (struct node* node = in_use; node != NULL; node = node->next) {
        sum += node->text[0];
    }
    for (int i = 0; i < LARGE_BYTES; i += 4096) {
        sum += arrays[2][i]++;
    }
    return sum;
}

int main(int count, char** arguments) {
    double work_s = count > 1 ? atof(arguments[1]) : 1.0;
    for (int i = 0; i < NODES; i++) {
        stale = list_stale(stale);
        in_use = list_in_use(in_use);
    }
    arrays[0] = array_stale();
    arrays[1] = array_never_used();
    arrays[2] = array_in_use();
    KEEP(&arrays);
    KEEP(&stale);
    long sum = 0;
    double started_s = cpu_s();
    while (cpu_s() < started_s + work_s) {
        sum += touch_what_is_in_use();
    }
    printf("done %d\n", sum != 0);
    return 0;
}
