#include "lens/siblings.h"

#include "base/attributes.h"
#include "format/records.h"
#include "heap/inspect.h"
#include "lens/stack_records.h"
#include "os/memory.h"
#include "record/recording.h"

enum {
    // By number of the allocation stack. Numbers of stacks lie close together, and so
    // do the pages that are needed; stacks that find no place are left out.
    PLACES = 1 << 18,
    PROBES_MAX = 16,
    STACKS_MAX = 1 << 16,
    FREED_MAX = 4, // different calls kept of each
    FIRST_FREES = 32,
    LATER_SHARE = 8, // of those that are looked at
    WELL_KNOWN = 4096,
    FIRST_LOOKS = 1 << 16, // before the clock limits them
};

struct siblings {
    uint32_t stack; // of the allocation
    uint32_t frees;
    uint32_t freed[FREED_MAX]; // call stacks, 0 where there are no more
    uint32_t look;             // at which it was written last
    uint32_t reserved;
};

static struct siblings* table; // in the order of their first frees, from 1
static uint32_t* places;       // numbers in the table; 0: the place is free
static uint32_t stack_count;   // in the table, beyond the maximum too

bool ll_siblings_start(void) {
    table = ll_memory_map(STACKS_MAX * sizeof *table);
    places = table == NULL ? NULL : ll_memory_map(PLACES * sizeof *places);
    ll_looks_left = places == NULL ? 0 : FIRST_LOOKS;
    return places != NULL;
}

// A number for the stack; 0 when all are given out.
static uint32_t new_number(uint32_t stack) {
    if (__atomic_load_n(&stack_count, __ATOMIC_RELAXED) >= STACKS_MAX - 1) {
        return 0;
    }
    uint32_t number = __atomic_add_fetch(&stack_count, 1, __ATOMIC_RELAXED);
    if (number >= STACKS_MAX) {
        return 0;
    }
    table[number].stack = stack;
    return number;
}

// Another thread may be faster; what is there then is its number.
static uint32_t fill(uint32_t* place, uint32_t stack) {
    uint32_t found = 0;
    uint32_t number = new_number(stack);
    if (number != 0 &&
        __atomic_compare_exchange_n(place, &found, number, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        return number;
    }
    return found;
}

static struct siblings* find(uint32_t stack) {
    for (uint32_t i = 0; i < PROBES_MAX; i++) {
        uint32_t* place = &places[(stack + i) % PLACES];
        uint32_t number = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (number == 0) {
            number = fill(place, stack);
        }
        if (number == 0 || table[number].stack == stack) {
            return number == 0 ? NULL : &table[number];
        }
    }
    return NULL;
}

// The allocation stack of a live block; 0 when it is not known.
static uint32_t stack_of(const void* block) {
    struct ll_block found;
    if (places == NULL || !ll_block_locate((uintptr_t)block, &found) ||
        !ll_block_is_live(found)) {
        return 0;
    }
    return ll_block_site(found);
}

// Stacks of which enough frees were seen, by their last bits.
static LL_BULK uint32_t well_known[WELL_KNOWN];
static LL_THREAD_LOCAL uint32_t later_frees;

// Threads that do so at once may look a little more often than they should.
static void use_up_look(void) {
    uint32_t left = __atomic_load_n(&ll_looks_left, __ATOMIC_RELAXED);
    if (left > 0) {
        __atomic_store_n(&ll_looks_left, left - 1, __ATOMIC_RELAXED);
    }
}

bool ll_siblings_look_at(const void* block) {
    use_up_look();
    uint32_t stack = stack_of(block);
    uint32_t* known = &well_known[stack % WELL_KNOWN];
    if (LL_LIKELY(__atomic_load_n(known, __ATOMIC_RELAXED) == stack)) {
        return stack != 0 && ++later_frees % LATER_SHARE == 0;
    }
    struct siblings* siblings = find(stack);
    if (siblings == NULL) {
        return false;
    }
    uint32_t frees = __atomic_add_fetch(&siblings->frees, 1, __ATOMIC_RELAXED);
    if (frees >= FIRST_FREES) {
        __atomic_store_n(known, stack, __ATOMIC_RELAXED);
    }
    return frees <= FIRST_FREES || frees % LATER_SHARE == 0;
}

void ll_siblings_note(const void* block, uint32_t freed) {
    uint32_t stack = stack_of(block);
    struct siblings* siblings = stack == 0 ? NULL : find(stack);
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
    struct siblings* siblings = places == NULL || stack == 0 ? NULL : find(stack);
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
