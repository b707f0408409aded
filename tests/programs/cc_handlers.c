// A timer's handler builds and drops trees while the program does, so that it
// interrupts every step of an allocation and a free. Both lose a tree now and then,
// which only the handler makes of long nodes (marks: cc_variables.c).
#include <signal.h>
#include <sys/time.h>

#include "corpus.h"

enum { DEPTH = 4, TREES_PER_LOSS = 50, ALARMS = 400 };
enum { SHORT_NODE = 16, LONG_NODE = 48 };

struct node {
    struct node* left;
    struct node* right;
};

static volatile sig_atomic_t alarms;

__attribute__((noinline)) static struct node* make(size_t size_bytes, int depth) {
    struct node* node = malloc(size_bytes);
    node->left = depth > 0 ? make(size_bytes, depth - 1) : NULL;
    node->right = depth > 0 ? make(size_bytes, depth - 1) : NULL;
    return node;
}

__attribute__((noinline)) static void drop(struct node* node) {
    if (node->left != NULL) {
        drop(node->left);
        drop(node->right);
    }
    free(node);
}

__attribute__((noinline)) static void lose_interrupted_bad(int depth) {
    struct node* tree = make(SHORT_NODE, depth);
    KEEP(tree);
} // loss(lose_interrupted_bad): out-of-scope tree

__attribute__((noinline)) static void lose_in_handler_bad(int depth) {
    struct node* tree = make(LONG_NODE, depth);
    KEEP(tree);
} // loss(lose_in_handler_bad): out-of-scope tree

static void on_alarm(int number) {
    (void)number;
    drop(make(LONG_NODE, 2));
    if (alarms < ALARMS && alarms % TREES_PER_LOSS == 0) {
        lose_in_handler_bad(0);
    }
    alarms = alarms + 1;
}

static void work(void) {
    for (int trees = 1; alarms < ALARMS; trees++) {
        drop(make(SHORT_NODE, trees % DEPTH));
        if (trees % (1 << 14) == 0) {
            lose_interrupted_bad(0);
        }
    }
}

// While there is a node of each length, the memory of one is not used for the other: a
// variable of the interrupted code may still hold the address of what it freed.
int main(void) {
    struct node* of_each_length[] = {make(SHORT_NODE, 0), make(LONG_NODE, 0)};
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, 500}, {0, 500}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    work();
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    drop(of_each_length[0]);
    drop(of_each_length[1]);
    scrub();
    return 0;
}
