// Blocks that are never lost and never freed: who still refers to them. A comment
// `holds(NAME): SLOT` marks the line that stores the reference to what the function
// NAME allocated, and names the slot.
#include "corpus.h"

struct item {
    struct item* next;
    char* text;
};

struct registry {
    int count;
    struct item* first;
};

static struct registry registry;
static char* table[100];

CASE struct item* new_item_ok(void) {
    return malloc(sizeof(struct item));
}

CASE char* new_text_ok(void) {
    return malloc(50);
}

CASE char* new_entry_ok(void) {
    return malloc(60);
}

CASE void add_item(void) {
    struct item* item = new_item_ok();
    item->text = new_text_ok(); // holds(new_text_ok): item->text
    item->next = registry.first;
    registry.first = item; // holds(new_item_ok): registry.first
    registry.count++;
}

CASE void fill_table(void) {
    for (int i = 0; i < 100; i++) {
        table[i] = new_entry_ok(); // holds(new_entry_ok): table[...]
    }
}

int main(void) {
    KEEP(&registry);
    KEEP(&table);
    for (int i = 0; i < 5; i++) {
        add_item();
    }
    fill_table();
    return 0;
}
