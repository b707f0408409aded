// Slots of the frame that still point to a block which was freed, while the next block
// that lies there is lost, as `leakline cc` sees it (marks: cc_variables.c).
#include "corpus.h"

// Bits of an address that are no reference.
typedef long hidden;

SCENE hidden hide(const void* block) {
    return ~(long)block;
}

// Loses the next block, which lies where another one was.
#define LOSES_NEXT(name)                                                               \
    ALLOCATES(name)                                                                    \
    SCENE void lose_##name(hidden old) {                                               \
        char* next = name();                                                           \
        if (hide(next) != old) {                                                       \
            abort();                                                                   \
        }                                                                              \
        next = NULL;                                                                   \
        KEEP(next);                                                                    \
    }

// Missed by the checker: who has the number of an address may have the address.
LOSES_NEXT(FN_behind_variable_bad)   // loss(FN_behind_variable_bad): overwritten next
LOSES_NEXT(FN_behind_test_bad)       // loss(FN_behind_test_bad): overwritten next
LOSES_NEXT(FN_behind_copy_bad)       // loss(FN_behind_copy_bad): overwritten next
LOSES_NEXT(FN_behind_first_name_bad) // loss(FN_behind_first_name_bad): overwritten next
LOSES_NEXT(FN_behind_member_bad)     // loss(FN_behind_member_bad): overwritten next
LOSES_NEXT(FN_behind_element_bad)    // loss(FN_behind_element_bad): overwritten next
LOSES_NEXT(FN_behind_address_bad)    // loss(FN_behind_address_bad): overwritten next
LOSES_NEXT(FN_behind_function_bad)   // loss(FN_behind_function_bad): overwritten next
LOSES_NEXT(FN_behind_new_value_bad)  // loss(FN_behind_new_value_bad): overwritten next
LOSES_NEXT(FN_behind_loop_bad)       // loss(FN_behind_loop_bad): overwritten next
LOSES_NEXT(FN_behind_count_bad)      // loss(FN_behind_count_bad): overwritten next
LOSES_NEXT(FN_behind_name_bad)       // loss(FN_behind_name_bad): overwritten next
LOSES_NEXT(FN_behind_members_bad)    // loss(FN_behind_members_bad): overwritten next
LOSES_NEXT(FN_behind_neighbours_bad) // loss(FN_behind_neighbours_bad): overwritten next
ALLOCATES(taken_by_variable_bad)
ALLOCATES(taken_by_member_bad)
ALLOCATES(taken_through_address_bad)
ALLOCATES(freed_on_other_way_bad)
ALLOCATES(still_counted_bad)
ALLOCATES(not_cleared_bad)
ALLOCATES(freed_ok)

struct pair {
    char* first;
    char* second;
};

static volatile int always = 1;
static volatile int never;

SCENE void use(const volatile void* slots) {
    KEEP(slots);
}

SCENE void fill(char** slot) {
    *slot = freed_ok();
}

SCENE void refill(char** slot) {
    *slot = taken_through_address_bad();
}

SCENE void release(char* text, const char* why) {
    KEEP(why);
    if (text == NULL) {
        return;
    }
    free(text);
}

// Whether these free what they are given, only the run can tell.
SCENE void drop(long* count) {
    if (--*count == 0) {
        free(count);
    }
}

SCENE void dispose(char* text) {
    void (*volatile give_back)(void*) = free;
    give_back(text);
}

SCENE void clear_second(struct pair* texts) {
    dispose(texts->second);
}

SCENE void variable(void) {
    char* p = freed_ok();
    hidden old = hide(p);
    free(p);
    lose_FN_behind_variable_bad(old);
    use(&always);
}

SCENE void variable_with_test(void) {
    char* p = always ? freed_ok() : NULL;
    hidden old = hide(p);
    if (p != NULL) {
        free(p);
    }
    lose_FN_behind_test_bad(old);
    use(&always);
}

SCENE void copy(void) {
    char* p = freed_ok();
    char* same = p;
    hidden old = hide(p);
    KEEP(same);
    if (always) {
        free(p);
    }
    lose_FN_behind_copy_bad(old);
    use(&always);
}

SCENE void first_name(void) {
    char* p = freed_ok();
    char* same = p;
    hidden old = hide(p);
    KEEP(p);
    free(same);
    lose_FN_behind_first_name_bad(old);
    use(&always);
}

SCENE void member(void) {
    struct pair texts = {NULL, freed_ok()};
    use(&texts);
    hidden old = hide(texts.second);
    free(texts.second);
    lose_FN_behind_member_bad(old);
    use(&always);
}

SCENE void element(void) {
    char* texts[3] = {NULL, NULL, freed_ok()};
    use(texts);
    hidden old = hide(texts[2]);
    free(texts[2]);
    lose_FN_behind_element_bad(old);
    use(&always);
}

SCENE void address(void) {
    char* text = NULL;
    fill(&text);
    hidden old = hide(text);
    free(text);
    lose_FN_behind_address_bad(old);
    use(&always);
}

SCENE void function(void) {
    char* p = freed_ok();
    hidden old = hide(p);
    release(p, "");
    lose_FN_behind_function_bad(old);
    use(&always);
}

SCENE void new_value(void) {
    struct pair texts = {freed_ok(), NULL};
    use(&texts);
    hidden old = hide(texts.first);
    free(texts.first);
    lose_FN_behind_new_value_bad(old);
    texts.first = "";
    use(&texts);
}

SCENE void loop(void) {
    char* text = NULL;
    hidden old = 0;
    for (int i = 0; i < 2; i++) {
        fill(&text);
        old = hide(text);
        free(text);
    }
    lose_FN_behind_loop_bad(old);
    use(&always);
}

SCENE void last_count(void) {
    long* counted = freed_ok();
    *counted = 1;
    hidden old = hide(counted);
    drop(counted);
    lose_FN_behind_count_bad(old);
    use(&always);
}

SCENE void name(void) {
    char* p = freed_ok();
    hidden old = hide(p);
    dispose(p);
    lose_FN_behind_name_bad(old);
    use(&always);
}

SCENE void members(void) {
    struct pair texts = {NULL, freed_ok()};
    hidden old = hide(texts.second);
    clear_second(&texts);
    lose_FN_behind_members_bad(old);
    use(&always);
}

// The blocks around it fill their places but for one byte.
SCENE void neighbours(void) {
    char* around[64];
    for (int i = 0; i < 64; i++) {
        around[i] = malloc(31);
        KEEP(around[i]);
    }
    for (int i = 0; i < 64; i += 2) {
        free(around[i]);
        around[i] = NULL;
    }
    char* p = freed_ok();
    hidden old = hide(p);
    dispose(p);
    lose_FN_behind_neighbours_bad(old);
    for (int i = 1; i < 64; i += 2) {
        free(around[i]);
    }
    use(&always);
}

// Who is asked about and still there is lost like any other.
SCENE void other_counts(void) {
    long* counted = still_counted_bad();
    *counted = 2;
    drop(counted);
    use(&always);
} // loss(still_counted_bad): out-of-scope counted

SCENE void other_member(void) {
    struct pair texts = {not_cleared_bad(), freed_ok()};
    clear_second(&texts);
    use(&always);
} // loss(not_cleared_bad): out-of-scope texts.first

// What such a slot gets later it loses like any other.
SCENE void variable_taken_again(void) {
    char* p = freed_ok();
    KEEP(p);
    free(p);
    p = taken_by_variable_bad();
    KEEP(p);
    use(&always);
} // loss(taken_by_variable_bad): out-of-scope p

SCENE void member_taken_again(void) {
    struct pair texts = {freed_ok(), NULL};
    use(&texts);
    free(texts.first);
    texts.first = taken_by_member_bad();
    use(&always);
} // loss(taken_by_member_bad): out-of-scope texts.first

SCENE void address_taken_again(void) {
    char* text = NULL;
    fill(&text);
    free(text);
    refill(&text);
    use(&always);
} // loss(taken_through_address_bad): out-of-scope text

SCENE void free_on_other_way(void) {
    char* p = freed_on_other_way_bad();
    KEEP(p);
    if (never) {
        free(p);
    }
    use(&always);
} // loss(freed_on_other_way_bad): out-of-scope p

int main(void) {
    variable();
    variable_with_test();
    copy();
    first_name();
    member();
    element();
    address();
    function();
    new_value();
    loop();
    last_count();
    name();
    members();
    neighbours();
    other_counts();
    other_member();
    variable_taken_again();
    member_taken_again();
    address_taken_again();
    free_on_other_way();
    return 0;
}
