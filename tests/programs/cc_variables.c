// Variables that lose what they hold, as `leakline cc` sees it: a comment
// `loss(NAME): CAUSE SLOT` marks the line that loses what the function NAME allocated,
// or the next line where it stands alone; `-` is a slot without a name.
#include <stdatomic.h>
#include <stdio.h>

#include "corpus.h"

struct pair {
    char* first;
    char* second;
};

union word {
    char* text;
    long number;
};

static struct pair shared;
static char* table[40];
static _Atomic(char*) slot;
static __thread char* own;

ALLOCATES(early_return_bad)
ALLOCATES(late_return_bad)
ALLOCATES(end_of_block_bad)
ALLOCATES(overwritten_local_bad)
ALLOCATES(left_by_continue_bad)
ALLOCATES(left_by_break_bad)
ALLOCATES(left_by_goto_bad)
ALLOCATES(ignored_bad)
ALLOCATES(ignored_argument_bad)
ALLOCATES(last_argument_bad)
ALLOCATES(changed_parameter_bad)
ALLOCATES(struct_local_bad)
ALLOCATES(array_local_bad)
ALLOCATES(long_array_local_bad)
ALLOCATES(dynamic_array_bad)
ALLOCATES(copied_over_bad)
ALLOCATES(filled_bad)
ALLOCATES(struct_assigned_bad)
ALLOCATES(union_bad)
ALLOCATES(number_bad)
ALLOCATES(exchanged_bad)
ALLOCATES(thread_local_bad)
ALLOCATES(replaced_by_library_bad)
ALLOCATES(dropped_by_choice_bad)
ALLOCATES(inner_scope_bad)
ALLOCATES(outer_scope_bad)
ALLOCATES(both_scopes_bad)
ALLOCATES(second_name_bad)
ALLOCATES(stepped_bad)
ALLOCATES(volatile_bad)
ALLOCATES(tail_call_bad)
ALLOCATES(returned_then_dropped_bad)
ALLOCATES(lost_in_line_bad)
ALLOCATES(read_from_result_bad)
ALLOCATES(released_ok)
ALLOCATES(kept_ok)

SCENE int early(int is_early) {
    char* p = early_return_bad();
    KEEP(p);
    if (is_early) {
        return 1; // loss(early_return_bad): out-of-scope p
    }
    free(p);
    return 0;
}

SCENE int late(int is_early) {
    char* p = late_return_bad();
    KEEP(p);
    if (is_early) {
        free(p);
        return 1;
    }
    return 0; // loss(late_return_bad): out-of-scope p
}

SCENE void blocks(void) {
    {
        char* p = end_of_block_bad();
        KEEP(p);
    } // loss(end_of_block_bad): out-of-scope p
    char* q = overwritten_local_bad();
    KEEP(q);
    q = NULL; // loss(overwritten_local_bad): overwritten q
    KEEP(q);
}

SCENE void loops(void) {
    for (int i = 0; i < 2; i++) {
        char* p = i == 0 ? left_by_continue_bad() : left_by_break_bad();
        KEEP(p);
        if (i == 0) {
            continue; // loss(left_by_continue_bad): out-of-scope p
        }
        if (i == 1) {
            break; // loss(left_by_break_bad): out-of-scope p
        }
        free(p);
    }
    {
        char* q = left_by_goto_bad();
        KEEP(q);
        if (q != NULL) {
            goto done; // loss(left_by_goto_bad): out-of-scope q
        }
    }
done:
    KEEP(table);
}

SCENE int looks_at(const char* text) {
    return text != NULL;
}

SCENE void clears(char** where) {
    *where = NULL;
    KEEP(where);
}

SCENE void takes(char* text, char** where) {
    clears(where);
    KEEP(text);
}

SCENE void change(char* parameter) {
    KEEP(parameter);
    parameter = changed_parameter_bad();
    KEEP(parameter);
} // loss(changed_parameter_bad): out-of-scope parameter

SCENE void arguments(void) {
    ignored_bad();                    // loss(ignored_bad): never-stored -
    looks_at(ignored_argument_bad()); // loss(ignored_argument_bad): never-stored -
    shared.first = last_argument_bad();
    // loss(last_argument_bad): out-of-scope shared.first
    takes(shared.first, &shared.first);
    change(NULL);
}

SCENE void aggregates(size_t count) {
    {
        struct pair local = {NULL, struct_local_bad()};
        KEEP(&local);
    } // loss(struct_local_bad): out-of-scope local.second
    {
        char* few[4] = {NULL};
        few[2] = array_local_bad();
        KEEP(few);
    } // loss(array_local_bad): out-of-scope few[2]
    {
        char* many[100];
        KEEP(many);
        many[77] = long_array_local_bad();
        KEEP(many);
    } // loss(long_array_local_bad): out-of-scope many
    {
        char* dynamic[count];
        KEEP(dynamic);
        dynamic[1] = dynamic_array_bad();
        KEEP(dynamic);
    } // loss(dynamic_array_bad): out-of-scope dynamic
}

SCENE void copies(const struct pair* other) {
    table[1] = copied_over_bad();
    table[30] = filled_bad();
    KEEP(table);
    char* fresh[20] = {NULL};
    KEEP(fresh);
    memcpy(table, fresh, sizeof fresh); // loss(copied_over_bad): overwritten table
    // loss(filled_bad): overwritten table[20]
    memset(&table[20], 0, 20 * sizeof *table);
    shared.second = struct_assigned_bad();
    KEEP(&shared);
    shared = *other; // loss(struct_assigned_bad): overwritten shared
    KEEP(&shared);
}

SCENE void disguises(union word* word) {
    word->text = union_bad();
    KEEP(word);
    word->number = 0; // loss(union_bad): overwritten word->text
    KEEP(word);
    uintptr_t number = (uintptr_t)number_bad();
    KEEP(number);
    number = 0; // loss(number_bad): overwritten number
    KEEP(number);
}

SCENE void places(void) {
    slot = exchanged_bad();
    KEEP(&slot);
    KEEP(atomic_exchange(&slot, NULL)); // loss(exchanged_bad): overwritten slot
    own = thread_local_bad();
    KEEP(&own);
    own = NULL; // loss(thread_local_bad): overwritten own
    KEEP(&own);
    char* volatile kept = volatile_bad();
    kept = NULL; // loss(volatile_bad): overwritten kept
    char* text = replaced_by_library_bad();
    KEEP(&text);
    int length =
        asprintf(&text, "%d", 1); // loss(replaced_by_library_bad): overwritten text
    KEEP(length);
    free(text);
}

SCENE void choose(int which) {
    char* p = which ? dropped_by_choice_bad() : NULL;
    KEEP(p);
} // loss(dropped_by_choice_bad): out-of-scope p

SCENE int nested(int how) {
    char* outer = both_scopes_bad();
    KEEP(outer);
    if (how > 0) {
        char* inner = inner_scope_bad();
        KEEP(inner);
        if (how > 1) {
            // loss(both_scopes_bad): out-of-scope outer
            return 2; // loss(inner_scope_bad): out-of-scope inner
        }
        free(inner);
    }
    KEEP(outer);
    free(outer);
    return 0;
}

SCENE int nested_again(void) {
    char* outer = kept_ok();
    table[39] = outer;
    {
        char* inner = outer_scope_bad();
        if (inner != NULL) {
            outer = inner;
            KEEP(outer);
        }
    }
    KEEP(outer);
    return 3; // loss(outer_scope_bad): out-of-scope outer
}

SCENE void names(void) {
    char* first = second_name_bad();
    char* second = first;
    first = NULL;
    KEEP(first);
    KEEP(second);
    second = NULL; // loss(second_name_bad): overwritten second
    KEEP(second);
    char* walker = stepped_bad();
    walker += 3;
    KEEP(walker);
    walker++;
    KEEP(walker);
    walker = NULL; // loss(stepped_bad): overwritten walker
    KEEP(walker);
}

SCENE int leaf(int number) {
    KEEP(table);
    return number + 1;
}

SCENE int tail(int number) {
    char* p = tail_call_bad();
    KEEP(p);
    // loss(tail_call_bad): out-of-scope p
    __attribute__((musttail)) return leaf(number);
}

SCENE char* returns(void) {
    char* p = returned_then_dropped_bad();
    KEEP(p);
    return p;
}

SCENE void drops(void) {
    char* p = returns();
    KEEP(p);
} // loss(returned_then_dropped_bad): out-of-scope p

// Has no copy of its own, only those in its callers.
extern inline __attribute__((gnu_inline, always_inline)) void in_line(void) {
    char* p = lost_in_line_bad();
    KEEP(p);
} // loss(lost_in_line_bad): out-of-scope p

SCENE void inlines(void) {
    in_line();
    KEEP(table);
}

struct link {
    struct link* next;
    struct link* back;
};

SCENE struct link* make_ring(void) {
    struct link* first = read_from_result_bad();
    struct link* second = read_from_result_bad();
    *first = (struct link){second, NULL};
    *second = (struct link){NULL, first};
    return first;
}

// The result is gone, but what it led to leads back to it.
SCENE void read_from_result(void) {
    struct link* second = make_ring()->next;
    KEEP(second);
} // loss(read_from_result_bad): out-of-scope second

int main(void) {
    early(1);
    late(0);
    blocks();
    loops();
    arguments();
    aggregates(5);
    struct pair empty = {NULL, NULL};
    copies(&empty);
    union word word = {NULL};
    disguises(&word);
    places();
    choose(1);
    nested(2);
    nested_again();
    names();
    tail(1);
    drops();
    inlines();
    read_from_result();
    free(released_ok());
    scrub();
    return 0;
}
