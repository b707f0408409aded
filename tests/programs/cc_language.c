// Ways of C to pass and change pointers that are neither assignments nor calls, as
// `leakline cc` sees them: a comment `loss(NAME): CAUSE SLOT` marks the line that loses
// what the function NAME allocated.
#include <setjmp.h>
#include <stdarg.h>

#include "corpus.h"

static jmp_buf place;
static char* moved[4];

ALLOCATES(one_of_many_bad)
ALLOCATES(kept_over_jump_bad)
ALLOCATES(overwritten_after_jump_bad)
ALLOCATES(jumped_ok)
// Missed by the checker: what assembly does to memory is not known.
ALLOCATES(FN_replaced_by_assembly_bad)
ALLOCATES(changed_by_assembly_bad)
ALLOCATES(read_by_assembly_ok)
ALLOCATES(moved_over_bad)
ALLOCATES(moved_ok)

SCENE void take_last(int count, ...) {
    va_list rest;
    va_start(rest, count);
    char* taken = NULL;
    while (count-- > 0) {
        taken = va_arg(rest, char*);
    }
    KEEP(taken);
    va_end(rest);
}

SCENE void arguments(void) {
    char* given = one_of_many_bad();
    take_last(2, NULL, given);
    KEEP(given);
} // loss(one_of_many_bad): out-of-scope given

SCENE void jump(void) {
    char* freed = jumped_ok();
    KEEP(freed);
    free(freed);
    longjmp(place, 1);
}

SCENE void jumps(void) {
    char* volatile kept = kept_over_jump_bad();
    char* volatile changed = overwritten_after_jump_bad();
    if (setjmp(place) == 0) {
        jump();
    } else {
        changed = NULL; // loss(overwritten_after_jump_bad): overwritten changed
    }
    KEEP(kept);
    KEEP(changed);
} // loss(kept_over_jump_bad): out-of-scope kept

SCENE void assembly(void) {
    char* replaced = FN_replaced_by_assembly_bad();
    KEEP(&replaced);
    // loss(FN_replaced_by_assembly_bad): overwritten replaced
    __asm__ volatile("movq $0, %0" : "=m"(replaced));
    KEEP(&replaced);
    char* changed = changed_by_assembly_bad();
    KEEP(changed);
    // loss(changed_by_assembly_bad): overwritten changed
    __asm__ volatile("xor %0, %0" : "=r"(changed));
    KEEP(changed);
    char* same = read_by_assembly_ok();
    __asm__ volatile("" : "+m"(same));
    free(same);
}

SCENE void moves(void) {
    moved[0] = moved_over_bad();
    moved[1] = moved_ok();
    KEEP(moved);
    // loss(moved_over_bad): overwritten *
    memmove(&moved[0], &moved[1], 3 * sizeof *moved);
    KEEP(moved);
    moved[1] = NULL;
}

int main(void) {
    arguments();
    jumps();
    assembly();
    moves();
    scrub();
    return 0;
}
