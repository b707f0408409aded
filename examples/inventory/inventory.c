// A small stock keeper that reads items from a file, with the leaks that such programs
// have: a forgotten buffer on an error path, a replaced string, a dropped list.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    char* name;
    int count;
    struct item* next;
};

struct inventory {
    struct item* items;
    char* owner;
};

static struct inventory stock;

static char* copy_text(const char* text) {
    size_t length = strlen(text) + 1;
    char* copy = malloc(length);
    return copy == NULL ? NULL : memcpy(copy, text, length);
}

// Returns the parsed item, or NULL when the line is malformed.
static struct item* parse_item(const char* line) {
    char* name = malloc(64);
    int count;
    if (name == NULL) {
        return NULL;
    }
    if (sscanf(line, "%63s %d", name, &count) != 2) {
        return NULL; // leaks `name`
    }
    struct item* item = malloc(sizeof *item);
    item->name = name;
    item->count = count;
    item->next = NULL;
    return item;
}

static struct item* parse_list(const char* const* lines) {
    struct item* items = NULL;
    for (; *lines != NULL; lines++) {
        struct item* item = parse_item(*lines);
        if (item != NULL) {
            item->next = items;
            items = item;
        }
    }
    return items;
}

static void set_owner(const char* name) {
    stock.owner = copy_text(name); // leaks the previous owner
}

static void reload(const char* const* lines) {
    stock.items = parse_list(lines); // leaks the list that was there
}

static void show(void) {
    for (const struct item* item = stock.items; item != NULL; item = item->next) {
        printf("%-10s %4d  (%s)\n", item->name, item->count, stock.owner);
    }
}

int main(void) {
    static const char* const monday[] = {"bolts 400", "nuts 380", "washers many",
                                         "gears 12", NULL};
    static const char* const tuesday[] = {"bolts 350", "nuts ?", "gears 11", NULL};
    set_owner("first shift");
    reload(monday);
    show();
    set_owner("second shift");
    reload(tuesday);
    show();
    return 0;
}
