// Builds and drops binary trees, in the manner of the Computer Language Benchmarks
// Game: all the program does is to allocate, to link and to free.
#include <stdio.h>
#include <stdlib.h>

enum { SMALLEST = 4 };

struct node {
    struct node* left;
    struct node* right;
};

static struct node* make(int depth) {
    struct node* node = malloc(sizeof *node);
    if (node == NULL) {
        abort();
    }
    node->left = depth > 0 ? make(depth - 1) : NULL;
    node->right = depth > 0 ? make(depth - 1) : NULL;
    return node;
}

static long count(const struct node* node) {
    return node->left == NULL ? 1 : 1 + count(node->left) + count(node->right);
}

static void drop(struct node* node) {
    if (node->left != NULL) {
        drop(node->left);
        drop(node->right);
    }
    free(node);
}

static long make_and_drop(int depth) {
    struct node* tree = make(depth);
    long nodes = count(tree);
    drop(tree);
    return nodes;
}

int main(int argc, char** argv) {
    int deepest = argc > 1 ? atoi(argv[1]) : 10;
    struct node* kept = make(deepest);
    for (int depth = SMALLEST; depth <= deepest; depth += 2) {
        long trees = 1L << (deepest - depth + SMALLEST);
        long nodes = 0;
        for (long tree = 0; tree < trees; tree++) {
            nodes += make_and_drop(depth);
        }
        printf("%ld trees of depth %d: %ld nodes\n", trees, depth, nodes);
    }
    printf("kept: %ld nodes\n", count(kept));
    drop(kept);
    return 0;
}
