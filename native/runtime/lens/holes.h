// Ranges of memory that are no roots although their mappings are: stacks below the
// stack pointer, stacks of ended threads, the runtime's own data.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ll_hole_condition {
    LL_HOLE_ALWAYS,
    // Only while the mapping that it starts in begins with it or inside it, right
    // behind a guard: a stack that libc keeps. Without the guard the program has put
    // something else there.
    LL_HOLE_BEHIND_GUARD,
    // Only if it ends in the mapping of the main thread's stack.
    LL_HOLE_IN_MAIN_STACK,
};

struct ll_hole {
    uintptr_t start;
    uintptr_t end;
    enum ll_hole_condition condition;
};

struct ll_holes {
    struct ll_hole* list; // by start, once sorted
    size_t count;
    size_t capacity;
};

// Left out without memory: the range is then searched like any other.
void ll_holes_add(struct ll_holes* holes, struct ll_hole hole);
void ll_holes_sort(struct ll_holes* holes);
void ll_holes_release(struct ll_holes* holes);

// A mapping to be searched around the holes. `guarded` when unreadable memory ends
// where it starts.
struct ll_searched {
    uintptr_t start;
    uintptr_t end;
    bool guarded;
    bool main_stack;
};

// The first part of the mapping at or behind `from` that is in no hole. False when
// nothing is left.
bool ll_holes_next_gap(const struct ll_holes* holes, const struct ll_searched* mapping,
                       uintptr_t from, uintptr_t* gap_start, uintptr_t* gap_end);
