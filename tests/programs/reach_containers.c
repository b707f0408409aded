// Lost structures: the block that leads to the others is lost, what only it leads to is
// indirectly lost; rings have no leader of their own and still count once.
#include "corpus.h"

struct node {
    struct node* next;
    struct node* other;
    char text[24];
};

static struct node* kept_list;

CASE struct node* head_bad(void) {
    return calloc(1, sizeof(struct node));
}

CASE struct node* tail_indirect_bad(void) {
    return calloc(1, sizeof(struct node));
}

CASE void drop_list(void) {
    struct node* head = head_bad();
    struct node* last = head;
    for (int i = 0; i < 99; i++) {
        last->next = tail_indirect_bad();
        last = last->next;
    }
    KEEP(head);
}

CASE struct node* tree_root_bad(void) {
    return calloc(1, sizeof(struct node));
}

CASE struct node* subtree_indirect_bad(int depth) {
    struct node* node = calloc(1, sizeof(struct node));
    if (depth > 0) {
        node->next = subtree_indirect_bad(depth - 1);
        node->other = subtree_indirect_bad(depth - 1);
    }
    return node;
}

CASE void drop_tree(void) {
    struct node* root = tree_root_bad();
    root->next = subtree_indirect_bad(5);
    root->other = subtree_indirect_bad(5);
    KEEP(root);
}

CASE struct node* make_ring_bad(int length) {
    struct node* first = calloc(1, sizeof(struct node));
    struct node* last = first;
    for (int i = 1; i < length; i++) {
        last->next = calloc(1, sizeof(struct node));
        last = last->next;
    }
    last->next = first;
    return first;
}

CASE void drop_ring(void) {
    KEEP(make_ring_bad(10));
}

CASE void self_reference_bad(void) {
    struct node* node = calloc(1, sizeof(struct node));
    node->next = node;
    KEEP(node);
}

CASE void keep_list_ok(void) {
    for (int i = 0; i < 50; i++) {
        struct node* node = calloc(1, sizeof(struct node));
        node->next = kept_list;
        kept_list = node;
    }
}

CASE void free_list_ok(void) {
    struct node* list = NULL;
    for (int i = 0; i < 50; i++) {
        struct node* node = calloc(1, sizeof(struct node));
        node->next = list;
        list = node;
    }
    while (list != NULL) {
        struct node* next = list->next;
        free(list);
        list = next;
    }
}

int main(void) {
    drop_list();
    drop_tree();
    drop_ring();
    self_reference_bad();
    keep_list_ok();
    free_list_ok();
    KEEP(&kept_list);
    scrub();
    return 0;
}
