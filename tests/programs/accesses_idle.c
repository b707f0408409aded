// Blocks that are used for as long as the program runs, and blocks that are not: those
// allocated under a function that ends in `_stale` are last used early on.
#include <stdio.h>
#include <time.h>

#include "corpus.h"

struct node {
    struct node* next;
    long key;
    char padding[40];
};

enum { NODES = 200 };

static struct node* idle_list;
static struct node* walked_list;
static struct node* seldom_list;
static char* copied;
static char* source;
static void* untouched;
static volatile long sum;

static struct node* push(struct node* list, long key) {
    struct node* node = malloc(sizeof *node);
    node->next = list;
    node->key = key;
    return node;
}

CASE void list_of_the_beginning_stale(void) {
    for (int i = 0; i < NODES; i++) {
        idle_list = push(idle_list, i);
    }
}

CASE void walked_list_ok(void) {
    for (int i = 0; i < NODES; i++) {
        walked_list = push(walked_list, i);
    }
}

CASE void list_walked_now_and_then_ok(void) {
    for (int i = 0; i < NODES; i++) {
        seldom_list = push(seldom_list, i);
    }
}

CASE void only_copied_ok(void) {
    copied = malloc(5000);
    source = malloc(5000);
    memset(source, 1, 5000);
}

CASE void never_touched_stale(void) {
    untouched = malloc(333);
    KEEP(&untouched);
}

__attribute__((noinline)) static long walk(const struct node* list) {
    long total = 0;
    for (; list != NULL; list = list->next) {
        total += list->key;
    }
    return total;
}

__attribute__((noinline)) static void last_look_at_idle_list(void) {
    sum += walk(idle_list);
    for (struct node* node = idle_list; node != NULL; node = node->next) {
        sum += node->padding[0] == 17;
    }
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char** arguments) {
    long end_ms = count > 1 ? atol(arguments[1]) : 1000;
    list_of_the_beginning_stale();
    walked_list_ok();
    list_walked_now_and_then_ok();
    only_copied_ok();
    never_touched_stale();
    last_look_at_idle_list();
    for (long round = 0; cpu_ms() < end_ms; round++) {
        for (int i = 0; i < 10; i++) {
            sum += walk(walked_list);
        }
        if (round % 4 == 0) {
            sum += walk(seldom_list);
            memcpy(copied, source, 5000);
        }
    }
    puts(sum > 0 ? "walked" : "nothing");
    fflush(stdout);
    _Exit(0);
}
