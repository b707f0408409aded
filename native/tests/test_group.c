// Groups against a plain model, and what happens without memory.
#include "lens/group.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { KEYS = 5000, BLOCKS = 200000 };

static struct ll_group_key key_of(unsigned i) {
    return (struct ll_group_key){
        .kind = 1 + i % 4, .stack = i / 40, .leader = i / 4 % 10, .loss = i % 3};
}

static bool is_before(const struct ll_group_key* a, const struct ll_group_key* b) {
    uint64_t first[] = {a->kind, a->stack, a->leader};
    uint64_t second[] = {b->kind, b->stack, b->leader};
    for (int i = 0; i < 3; i++) {
        if (first[i] != second[i]) {
            return first[i] < second[i];
        }
    }
    return a->loss < b->loss;
}

static void counts_agree_with_the_model(void) {
    static uint64_t blocks[KEYS];
    static uint64_t bytes[KEYS];
    struct ll_groups groups = {0};
    for (unsigned i = 0; i < BLOCKS; i++) {
        // Runs of equal keys, as blocks of one kind come in a heap.
        unsigned number = (i / 7 * 2654435761U >> 8) % KEYS;
        struct ll_group_key key = key_of(number);
        ll_groups_add(&groups, &key, i % 100, 4096 + i);
        blocks[number]++;
        bytes[number] += i % 100;
    }
    for (unsigned i = 0; i < KEYS; i++) {
        struct ll_group_key key = key_of(i);
        const struct ll_group* group = ll_groups_find(&groups, &key);
        CHECK(group->blocks == blocks[i] && group->bytes == bytes[i]);
        CHECK(blocks[i] == 0 || group->address >= 4096);
    }
    CHECK(groups.count == KEYS && groups.dropped == 0);
    const struct ll_group* sorted = ll_groups_sorted(&groups);
    for (unsigned i = 0; i + 1 < KEYS; i++) {
        CHECK(is_before(&sorted[i].key, &sorted[i + 1].key));
    }
    ll_groups_release(&groups);
}

static void no_groups_are_an_empty_array(void) {
    struct ll_groups groups = {0};
    ll_groups_sorted(&groups);
    CHECK(groups.count == 0);
    ll_groups_release(&groups);
}

// Runs in a child whose address space cannot grow any more.
static int count_without_memory(void) {
    struct ll_groups groups = {0};
    struct ll_group_key key = key_of(0);
    ll_groups_add(&groups, &key, 1, 4096);
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_AS, &limit);
    for (unsigned i = 0; i < KEYS; i++) {
        key = key_of(i);
        ll_groups_add(&groups, &key, 1, 4096);
    }
    uint64_t counted = 0;
    for (size_t i = 0; i < groups.capacity; i++) {
        counted += groups.table[i].blocks;
    }
    return groups.dropped == 0 || counted + groups.dropped != KEYS + 1;
}

static void blocks_without_memory_are_counted_as_dropped(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(count_without_memory());
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

int main(void) {
    counts_agree_with_the_model();
    no_groups_are_an_empty_array();
    blocks_without_memory_are_counted_as_dropped();
    return failures != 0;
}
