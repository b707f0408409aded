// Which slots refer to blocks that are not lost: words of blocks, and variables.
#include "lens/references.h"

#include <stdio.h>

#include "check.h"
#include "format/records.h"
#include "heap/heap.h"
#include "heap/inspect.h"
#include "lens/classify.h"
#include "stack/stack.h"

enum { HOLDER_SITE = 1, HELD_SITE, LOST_SITE, WORDS = 8 };

static uintptr_t* allocate(uint32_t site, unsigned mark) {
    uintptr_t* made = ll_heap_allocate_zeroed(WORDS * sizeof *made, site);
    struct ll_block block;
    CHECK(made != NULL && ll_block_at((uintptr_t)made, &block));
    ll_block_set_mark(block, mark);
    return made;
}

// The slots of one kind that refer to blocks of a site, at an offset of their holder.
static uint64_t slots(struct ll_references* references, uint32_t kind, uint32_t site,
                      uint32_t offset) {
    uint64_t found = 0;
    const struct ll_group* group = references->groups.table;
    for (size_t i = 0; i < references->groups.capacity; i++, group++) {
        if (group->key.kind == kind && group->key.stack == site &&
            group->key.loss_offset == offset) {
            CHECK(kind != LL_REFERENCE_block || group->key.leader == HOLDER_SITE);
            CHECK(kind != LL_REFERENCE_variable || group->key.leader != 0);
            found += group->blocks;
        }
    }
    return found;
}

static void test_words_of_reached_blocks_count(void) {
    struct ll_references references = {0};
    uintptr_t* held = allocate(HELD_SITE, LL_MARK_REACHED);
    uintptr_t* lost = allocate(LOST_SITE, LL_MARK_UNREACHED);
    for (unsigned i = 0; i < 3; i++) {
        uintptr_t* holder = allocate(HOLDER_SITE, LL_MARK_REACHED);
        holder[2] = (uintptr_t)held + 5;
        holder[3] = (uintptr_t)lost;
    }
    lost[2] = (uintptr_t)held;
    ll_references_find(&references);
    CHECK(slots(&references, LL_REFERENCE_block, HELD_SITE, 16) == 3);
    CHECK(slots(&references, LL_REFERENCE_block, LOST_SITE, 24) == 0);
    ll_groups_release(&references.groups);
}

// A variable of the C library holds it; those of the library under test do not count.
static void test_variables_of_modules_count(void) {
    struct ll_references references = {0};
    char* buffer = (char*)allocate(HOLDER_SITE, LL_MARK_REACHED);
    CHECK(setvbuf(stdin, buffer, _IOFBF, WORDS * sizeof(uintptr_t)) == 0);
    ll_references_find(&references);
    CHECK(setvbuf(stdin, NULL, _IONBF, 0) == 0);
    CHECK(slots(&references, LL_REFERENCE_variable, HOLDER_SITE, 0) > 0);
    ll_groups_release(&references.groups);
}

int main(void) {
    CHECK(ll_heap_start() && ll_stack_start(64));
    test_words_of_reached_blocks_count();
    test_variables_of_modules_count();
    return failures != 0;
}
