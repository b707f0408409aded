// Blocks that a local variable or register holds for longer than memory does. With
// `--refine` each is lost on the line marked `loss(NAME)`; after the colon stand the
// variable and, in brackets, how memory lost it.

#include "corpus.h"

struct node {
    struct node* next;
    char* text;
};

struct link {
    struct link* next;
    struct link* last;
};

struct owner {
    char name[32];
    struct link items; // refers to itself while there are none
};

static struct node* first_node;
static char* current;
static volatile size_t letters;

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_popped_bad(size_t size) {
    return malloc(size);
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_of_freed_node_bad(size_t size) {
    return malloc(size);
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_replaced_bad(size_t size) {
    return malloc(size);
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_dead_in_caller_bad(size_t size) {
    return malloc(size);
}

CASE struct owner* list_head_bad(size_t size) {
    struct owner* owner = malloc(size);
    owner->items.next = owner->items.last = &owner->items;
    return owner;
}

CASE struct link* item_indirect_bad(void) {
    return malloc(sizeof(struct link));
}

CASE char* popped_ok(size_t size) {
    return malloc(size);
}

static void push(char* text) {
    struct node* node = malloc(sizeof *node);
    node->text = text;
    node->next = first_node;
    first_node = node;
}

CASE char* pop(void) {
    struct node* node = first_node;
    char* text = node->text;
    node->text = NULL;
    first_node = node->next;
    free(node);
    return text;
}

CASE int read_popped(void) {
    char* taken = pop();
    letters += strlen(taken);
    if (letters > 1) {
        return 1; // loss(FN_popped_bad): taken [overwritten]
    }
    free(taken);
    return 0;
}

CASE int read_first(void) {
    struct node* node = first_node;
    char* kept = node->text;
    first_node = node->next;
    free(node);
    letters += strlen(kept);
    if (letters > 1) {
        return 2; // loss(FN_of_freed_node_bad): kept [container-freed]
    }
    free(kept);
    return 0;
}

CASE void replace(char* with) {
    current = with; // loss(FN_replaced_bad): current [overwritten]
}

CASE void forget(void) {
    current = NULL;
    KEEP(&current);
}

CASE void count(const char* text) {
    letters += strlen(text);
}

// Optimised code needs `looked` no more when it is forgotten, but still has it in a
// register that `forget` keeps.
CASE int read_current(void) {
    char* looked = current;
    count(looked);
    count(looked);
    forget();
    return 3;
}

CASE void add(struct link* items, struct link* item) {
    item->next = items->next;
    item->last = items;
    items->next->last = item;
    items->next = item;
}

CASE int read_list(void) {
    struct owner* mine = list_head_bad(600);
    add(&mine->items, item_indirect_bad());
    if (mine->items.next != &mine->items) {
        return 4; // loss(list_head_bad): mine [overwritten]
    }
    free(mine);
    return 0;
}

static char* filled(char* text) {
    strcpy(text, "some text");
    return text;
}

int main(void) {
    push(filled(FN_popped_bad(100)));
    int result = read_popped();
    push(filled(FN_of_freed_node_bad(200)));
    result += read_first();
    replace(filled(FN_replaced_bad(300)));
    replace(NULL);
    current = filled(FN_dead_in_caller_bad(500));
    result += read_current();
    result += read_list();
    push(filled(popped_ok(400)));
    free(pop());
    KEEP(&first_node);
    KEEP(&current);
    return result == 10 ? 0 : 1;
}
