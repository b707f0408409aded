// References that are created in one function and lost in another. A comment
// `birth(NAME)` marks the line that stores the reference which is lost last to what the
// function NAME allocated.
#include "corpus.h"

#include <sys/mman.h>

struct holder {
    char* text;
};

static char* global_slot;
static char* other_slot;
static char* tables[2][64];
static volatile size_t table_size = sizeof tables[0];
static struct holder* holder;
static char** grown;
static char** mapped;

enum { PAGE = 4096, MAPPED = 16 * PAGE };

CASE char* of_global_bad(void) {
    return malloc(500);
}

CASE char* of_two_slots_bad(void) {
    return malloc(501);
}

CASE char* of_holder_bad(void) {
    return malloc(502);
}

CASE char* of_copy_bad(void) {
    return malloc(503);
}

CASE char* of_grown_bad(void) {
    return malloc(504);
}

// Missed by the checker: it does not follow mappings.
CASE char* FN_of_moved_mapping_bad(void) {
    return malloc(506);
}

CASE char* inside_bad(void) {
    return malloc(505);
}

CASE void create_global(void) {
    global_slot = of_global_bad(); // birth(of_global_bad)
    KEEP(&global_slot);
}

CASE void lose_global(void) {
    global_slot = NULL;
    KEEP(&global_slot);
}

CASE void create_first(void) {
    global_slot = of_two_slots_bad();
    KEEP(&global_slot);
}

CASE void create_second(void) {
    other_slot = global_slot; // birth(of_two_slots_bad)
    KEEP(&other_slot);
}

CASE void lose_first_then_second(void) {
    global_slot = NULL;
    KEEP(&global_slot);
    other_slot = NULL;
    KEEP(&other_slot);
}

CASE void create_in_holder(void) {
    holder = malloc(sizeof *holder);
    KEEP(&holder);
    holder->text = of_holder_bad(); // birth(of_holder_bad)
    KEEP(holder);
}

CASE void free_holder(void) {
    free(holder);
    holder = NULL;
    KEEP(&holder);
}

CASE void create_original(void) {
    tables[0][1] = of_copy_bad();
    KEEP(tables);
}

CASE void copy_table(void) {
    memcpy(tables[1], tables[0], table_size); // birth(of_copy_bad)
    KEEP(tables);
}

CASE void clear_tables(void) {
    tables[0][1] = NULL;
    KEEP(tables);
    tables[1][1] = NULL;
    KEEP(tables);
}

CASE void create_in_grown(void) {
    grown = calloc(4, sizeof *grown);
    KEEP(&grown);
    grown[2] = of_grown_bad(); // birth(of_grown_bad)
    KEEP(grown);
}

CASE void grow(void) {
    grown = realloc(grown, 1000 * sizeof *grown);
    KEEP(&grown);
}

CASE void lose_in_grown(void) {
    grown[2] = NULL;
    KEEP(grown);
    free(grown);
    grown = NULL;
    KEEP(&grown);
}

CASE void create_in_mapping(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    mapped = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, flags, -1, 0);
    KEEP(&mapped);
    mapped[700] = FN_of_moved_mapping_bad(); // birth(FN_of_moved_mapping_bad)
    KEEP(mapped);
}

CASE void move_mapping(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void* room = mmap(NULL, MAPPED, PROT_NONE, flags, -1, 0);
    mapped = mremap(mapped, MAPPED, MAPPED, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    KEEP(&mapped);
}

CASE void lose_in_mapping(void) {
    mapped[700] = NULL;
    KEEP(mapped);
    munmap(mapped, MAPPED);
}

CASE void create_inside(void) {
    global_slot = inside_bad() + 300; // birth(inside_bad)
    KEEP(&global_slot);
}

int main(void) {
    create_global();
    lose_global();
    create_first();
    create_second();
    lose_first_then_second();
    create_in_holder();
    free_holder();
    create_original();
    copy_table();
    clear_tables();
    create_in_grown();
    grow();
    lose_in_grown();
    create_in_mapping();
    move_mapping();
    lose_in_mapping();
    create_inside();
    lose_global();
    scrub();
    return 0;
}
