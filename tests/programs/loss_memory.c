// Where the last reference in memory goes. A comment `loss(NAME): CAUSE` marks the line
// that loses what the function NAME allocated.
#include <setjmp.h>

#include "corpus.h"

struct holder {
    char* text;
    struct holder* next;
};

static char* global_slot;
static char* table[8];
static struct holder* list;
static __thread char* thread_slot;
static jmp_buf way;
static char* saved_slot;

CASE char* overwritten_global_bad(void) {
    return malloc(100);
}

CASE char* cleared_array_bad(void) {
    return malloc(101);
}

CASE char* freed_container_bad(void) {
    return malloc(102);
}

CASE char* overwritten_field_bad(void) {
    return malloc(103);
}

CASE char* overwritten_thread_local_bad(void) {
    return malloc(104);
}

CASE struct holder* ring_bad(void) {
    return calloc(1, sizeof(struct holder));
}

CASE char* moved_then_dropped_bad(void) {
    return malloc(107);
}

CASE char* never_in_memory_bad(void) {
    return malloc(108);
}

// Missed by the checker: the assembly may keep it.
CASE char* FN_saved_in_register_bad(void) {
    return malloc(110);
}

CASE char* replacement_ok(void) {
    return malloc(109);
}

CASE void overwrite_global(void) {
    global_slot = overwritten_global_bad();
    scrub();
    global_slot = replacement_ok(); // loss(overwritten_global_bad): overwritten
}

// Saves this place, to which nobody jumps, while one register holds what it is given.
CASE void save_place(char* in_register) {
    void* place = way;
    __asm__ volatile("xor %%r12d, %%r12d; xor %%r13d, %%r13d; xor %%r14d, %%r14d;"
                     "xor %%r15d, %%r15d; lea -128(%%rsp), %%rsp; call _setjmp@PLT;"
                     "lea 128(%%rsp), %%rsp"
                     : "+D"(place), "+b"(in_register)
                     :
                     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12",
                       "r13", "r14", "r15", "cc", "memory");
}

// A place that was saved holds copies of registers, which are no variables any more.
CASE void save_places(void) {
    saved_slot = FN_saved_in_register_bad();
    save_place(saved_slot);
    saved_slot = NULL; // loss(FN_saved_in_register_bad): overwritten
    save_place(NULL);
}

CASE void clear_array(int index) {
    table[index] = cleared_array_bad();
    scrub();
    table[index] = NULL; // loss(cleared_array_bad): overwritten
}

CASE void free_container(void) {
    struct holder* holder = calloc(1, sizeof *holder);
    holder->text = freed_container_bad();
    KEEP(holder);
    scrub();
    free(holder); // loss(freed_container_bad): container-freed
}

CASE void overwrite_field(struct holder* holder) {
    holder->text = overwritten_field_bad();
    scrub();
    holder->text = NULL; // loss(overwritten_field_bad): overwritten
}

CASE void overwrite_thread_local(void) {
    thread_slot = overwritten_thread_local_bad();
    KEEP(&thread_slot);
    scrub();
    thread_slot = NULL; // loss(overwritten_thread_local_bad): overwritten
    KEEP(&thread_slot);
}

CASE void drop_ring(void) {
    struct holder* first = ring_bad();
    first->next = ring_bad();
    first->next->next = first;
    list = first;
    KEEP(&list);
    scrub();
    list = NULL; // loss(ring_bad): overwritten
}

CASE void move_then_drop(void) {
    table[5] = moved_then_dropped_bad();
    table[6] = table[5];
    table[5] = NULL;
    scrub();
    table[6] = NULL; // loss(moved_then_dropped_bad): overwritten
}

CASE void keep_in_register(void) {
    KEEP(never_in_memory_bad());
}

int main(void) {
    struct holder* kept = calloc(1, sizeof *kept);
    overwrite_global();
    save_places();
    clear_array(3);
    free_container();
    overwrite_field(kept);
    overwrite_thread_local();
    drop_ring();
    move_then_drop();
    keep_in_register();
    KEEP(&global_slot);
    KEEP(&saved_slot);
    KEEP(table);
    KEEP(&list);
    free(kept);
    scrub();
    return 0;
}
