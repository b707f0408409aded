#include "lens/siblings.h"

#include "format/records.h"
#include "heap/inspect.h"
#include "lens/stack_records.h"
#include "os/memory.h"
#include "record/recording.h"

enum {
    TABLE_LENGTH = 1 << 16, // allocation stacks; those that find no place are left out
    PROBES_MAX = 16,
    FREED_MAX = 4, // different calls kept of each
    FIRST_FREES = 32,
    LATER_SHARE = 256,
};

struct siblings {
    uint32_t stack; // of the allocation; 0: the place is free
    uint32_t frees;
    uint32_t freed[FREED_MAX]; // call stacks, 0 where there are no more
    uint32_t look;             // at which it was written last
    uint32_t reserved;
};

static struct siblings* table;

bool ll_siblings_start(void) {
    table = ll_memory_map(TABLE_LENGTH * sizeof *table);
    return table != NULL;
}

static struct siblings* find(uint32_t stack) {
    uint32_t hash = stack * 2654435761U >> 8;
    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        struct siblings* place = &table[(hash + i) % TABLE_LENGTH];
        uint32_t found = __atomic_load_n(&place->stack, __ATOMIC_RELAXED);
        if (found == 0 &&
            !__atomic_compare_exchange_n(&place->stack, &found, stack, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            // Somebody else took it, perhaps for the same stack.
        } else if (found == 0) {
            return place;
        }
        if (found == stack) {
            return place;
        }
    }
    return NULL;
}

static struct siblings* of_block(const void* block) {
    struct ll_block found;
    if (table == NULL || !ll_block_locate((uintptr_t)block, &found) ||
        !ll_block_is_live(found) || ll_block_site(found) == 0) {
        return NULL;
    }
    return find(ll_block_site(found));
}

bool ll_siblings_want(const void* block) {
    struct siblings* siblings = of_block(block);
    if (siblings == NULL) {
        return false;
    }
    uint32_t frees = __atomic_add_fetch(&siblings->frees, 1, __ATOMIC_RELAXED);
    return frees <= FIRST_FREES || frees % LATER_SHARE == 0;
}

void ll_siblings_note(const void* block, uint32_t freed) {
    struct siblings* siblings = of_block(block);
    if (siblings == NULL || freed == 0) {
        return;
    }
    for (int i = 0; i < FREED_MAX; i++) {
        uint32_t known = 0;
        if (__atomic_compare_exchange_n(&siblings->freed[i], &known, freed, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            known == freed) {
            return;
        }
    }
}

void ll_siblings_write(uint32_t stack, uint32_t look) {
    struct siblings* siblings = table == NULL || stack == 0 ? NULL : find(stack);
    if (siblings == NULL || siblings->look == look) {
        return;
    }
    siblings->look = look;
    for (int i = 0; i < FREED_MAX && siblings->freed[i] != 0; i++) {
        ll_stack_records_write(siblings->freed[i]);
        struct ll_record_sibling_free record = {.stack = stack,
                                                .freed = siblings->freed[i]};
        ll_record(LL_RECORD_sibling_free, &record, sizeof record, NULL, 0);
    }
}
