// Most blocks of one place are freed by one function; every tenth is forgotten in a
// list that nobody looks at again.
#include <stdio.h>
#include <time.h>

#include "corpus.h"

struct item {
    struct item* next;
    long key;
};

static struct item* forgotten;
static volatile long sum;

CASE struct item* make_item(long key) {
    struct item* item = malloc(sizeof *item);
    item->key = key;
    item->next = NULL;
    return item;
}

CASE void drop_item(struct item* item) {
    sum += item->key;
    free(item);
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void) {
    for (long key = 0; key < 1000; key++) {
        struct item* item = make_item(key);
        if (key % 10 != 0) {
            drop_item(item);
        } else {
            item->next = forgotten;
            forgotten = item;
        }
    }
    while (cpu_ms() < 600) {
        sum += 1;
    }
    puts(sum > 0 ? "done" : "nothing");
    return 0;
}
