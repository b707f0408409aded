// Which words count as references to a block: globals, interior pointers, one past the
// end, words inside other blocks; and which do not.
#include "corpus.h"

static char* global_start;
static char* global_interior;
static char* global_past_end;
static uintptr_t global_disguised;
static void** global_table;

CASE void pointer_overwritten_bad(void) {
    static char* slot;
    slot = malloc(24);
    KEEP(slot);
    slot = NULL;
}

CASE void local_out_of_scope_bad(void) {
    char* buffer = malloc(100);
    KEEP(buffer);
}

CASE void result_ignored_bad(void) {
    KEEP(malloc(7));
}

CASE int early_return_bad(int failed) {
    char* buffer = malloc(300);
    KEEP(buffer);
    if (failed) {
        return -1;
    }
    free(buffer);
    return 0;
}

// Missed by the checker: the pointer is hidden in a number, which might be kept.
CASE void FN_disguised_pointer_bad(void) {
    global_disguised = ~(uintptr_t)malloc(40);
    KEEP(global_disguised);
}

CASE void held_by_global_ok(void) {
    global_start = malloc(64);
}

CASE void held_by_interior_pointer_ok(void) {
    global_interior = (char*)malloc(64) + 17;
}

CASE void held_one_past_the_end_ok(void) {
    global_past_end = (char*)malloc(64) + 64;
}

CASE void held_through_block_ok(void) {
    global_table = calloc(8, sizeof *global_table);
    global_table[5] = malloc(10);
}

CASE void held_by_static_local_ok(void) {
    static char* cache;
    if (cache == NULL) {
        cache = malloc(33);
    }
    KEEP(&cache);
}

CASE void freed_ok(void) {
    char* buffer = malloc(50);
    KEEP(buffer);
    free(buffer);
}

// A neighbour of the same size class that is alive must not keep a lost block alive.
CASE void neighbour_of_live_block_bad(void) {
    KEEP(malloc(48));
}

CASE void live_neighbour_ok(void) {
    static char* after[4];
    for (int i = 0; i < 4; i++) {
        after[i] = malloc(48);
    }
    KEEP(after);
}

int main(int argc, char** argv) {
    (void)argv;
    pointer_overwritten_bad();
    local_out_of_scope_bad();
    result_ignored_bad();
    early_return_bad(argc);
    FN_disguised_pointer_bad();
    held_by_global_ok();
    held_by_interior_pointer_ok();
    held_one_past_the_end_ok();
    held_through_block_ok();
    held_by_static_local_ok();
    freed_ok();
    neighbour_of_live_block_bad();
    live_neighbour_ok();
    KEEP(&global_start);
    KEEP(&global_interior);
    KEEP(&global_past_end);
    KEEP(&global_table);
    scrub();
    return 0;
}
