// Usage: many_blocks LIVE ALLOCATIONS. Keeps LIVE blocks of 16 to 144 bytes in lists
// that a table holds, loses every hundredth of them, and replaces blocks at random
// until ALLOCATIONS were made.
#include <stdint.h>
#include <stdlib.h>

struct block {
    struct block* next;
    uint64_t value;
};

enum { LISTS = 1 << 16 };
static struct block* lists[LISTS];
static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void add(void) {
    uint64_t random = next_random();
    struct block* block = malloc(sizeof *block + (random >> 32) % 129);
    struct block** list = &lists[random % LISTS];
    block->value = random;
    block->next = *list;
    *list = block;
}

static void drop_one(void) {
    struct block** list = &lists[next_random() % LISTS];
    struct block* block = *list;
    if (block == NULL) {
        return;
    }
    *list = block->next;
    if (block->value % 100 == 0) {
        block->next = NULL; // lost
    } else {
        free(block);
    }
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    uint64_t live = strtoull(argv[1], NULL, 10);
    uint64_t allocations = strtoull(argv[2], NULL, 10);
    for (uint64_t i = 0; i < allocations; i++) {
        add();
        if (i >= live) {
            drop_one();
        }
    }
    return 0;
}
