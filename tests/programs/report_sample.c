// Loses a list of items with names, keeps a table, and ends as its arguments say:
// nothing, `exit CODE` or `signal NUMBER`.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct item {
    struct item* next;
    char* name;
};

static void* table;

static void keep_table(void) {
    table = calloc(10, 10);
}

static struct item* make_item(const char* name, struct item* next) {
    struct item* item = malloc(sizeof *item);
    item->next = next;
    item->name = strdup(name);
    return item;
}

static void forget_items(void) {
    for (int i = 0; i < 100; i++) {
        struct item* volatile item = make_item("some name", NULL);
        item = NULL;
        (void)item;
    }
}

int main(int argc, char** argv) {
    keep_table();
    forget_items();
    write(STDOUT_FILENO, "ran\n", 4) == 4 ? (void)0 : (void)1;
    if (argc == 3 && strcmp(argv[1], "exit") == 0) {
        return atoi(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "signal") == 0) {
        raise(atoi(argv[2]));
    }
    return 0;
}
