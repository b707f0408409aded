// Where several ways meet, `leakline cc` leaves out notes for those on which another
// holder keeps the block: what the variable holds alone on the others is found all the
// same. A comment `loss(NAME): CAUSE SLOT` marks the line that loses what the function
// NAME allocated.
#include "corpus.h"

struct holder {
    char* held;
};

static struct holder shared;
static char* other;

ALLOCATES(on_rare_way_bad)
ALLOCATES(on_usual_way_bad)
ALLOCATES(cut_on_one_way_bad)
ALLOCATES(copied_either_way_bad)
ALLOCATES(held_by_three_bad)
ALLOCATES(held_by_one_of_three_bad)
ALLOCATES(whole_gone_early_bad)
ALLOCATES(whole_kept_early_bad)
ALLOCATES(forgotten_on_one_way_bad)
ALLOCATES(remembered_on_one_way_bad)
ALLOCATES(read_later_bad)
ALLOCATES(replaced_in_loop_bad)
ALLOCATES(replacing_in_loop_bad)
ALLOCATES(passed_on_twice_bad)
ALLOCATES(kept_twice_bad)
ALLOCATES(freed_elsewhere_bad)
ALLOCATES(copied_before_bad)

SCENE void forget_held(void) {
    shared.held = NULL;
    KEEP(&shared);
}

SCENE void use(const char* parameter) {
    KEEP(parameter);
}

// Only on one of the ways to a statement is the variable the last holder.
SCENE void rare_way(int rare) {
    char* whole = on_rare_way_bad();
    char* part = whole + 1;
    KEEP(part);
    if (rare) {
        whole = NULL;
    }
    part = NULL; // loss(on_rare_way_bad): overwritten part
    KEEP(part);
    KEEP(whole);
}

SCENE void usual_way(int rare) {
    char* whole = on_usual_way_bad();
    char* part = whole + 1;
    KEEP(part);
    if (rare) {
        whole = NULL;
    }
    part = NULL;
    KEEP(part);
    KEEP(whole);
} // loss(on_usual_way_bad): out-of-scope whole

// Variables that hold the same on each way do so where the ways meet.
SCENE void parts_of_one_way(int cut) {
    char* whole = NULL;
    char* part = NULL;
    char* end = NULL;
    if (cut) {
        whole = cut_on_one_way_bad();
        part = whole + 1;
        end = whole + 2;
        KEEP(whole);
    }
    whole = NULL;
    KEEP(whole);
    part = NULL;
    KEEP(part);
    end = NULL; // loss(cut_on_one_way_bad): overwritten end
    KEEP(end);
}

SCENE void copied_either_way(int forth) {
    char* one = copied_either_way_bad();
    char* two = one;
    KEEP(two);
    if (!forth) {
        one = two;
    }
    KEEP(one);
    one = NULL;
    KEEP(one);
    two = NULL; // loss(copied_either_way_bad): overwritten two
    KEEP(two);
}

SCENE void held_by_some(int all) {
    char* whole = all ? held_by_three_bad() : held_by_one_of_three_bad();
    char* part = NULL;
    char* end = NULL;
    if (all) {
        part = whole + 1;
        end = whole + 2;
        KEEP(part);
    }
    KEEP(whole);
    whole = NULL; // loss(held_by_one_of_three_bad): overwritten whole
    KEEP(whole);
    part = NULL;
    KEEP(part);
    end = NULL; // loss(held_by_three_bad): overwritten end
    KEEP(end);
}

// Which way was taken matters only long after the ways met.
SCENE void holder_on_one_way(int gone) {
    char* whole = gone ? whole_gone_early_bad() : whole_kept_early_bad();
    char* part = whole + 1;
    KEEP(part);
    if (gone) {
        whole = NULL;
    }
    KEEP(whole);
    forget_held();
    part = NULL; // loss(whole_gone_early_bad): overwritten part
    KEEP(part);
    forget_held();
    whole = NULL; // loss(whole_kept_early_bad): overwritten whole
    KEEP(whole);
}

SCENE void memory_on_one_way(int forgotten) {
    shared.held = forgotten ? forgotten_on_one_way_bad() : remembered_on_one_way_bad();
    KEEP(&shared);
    char* reading = shared.held;
    KEEP(reading);
    if (forgotten) {
        forget_held();
    }
    use(reading);
    KEEP(reading);
    reading = NULL; // loss(forgotten_on_one_way_bad): overwritten reading
    KEEP(reading);
    use(reading);
    shared.held = NULL; // loss(remembered_on_one_way_bad): overwritten shared.held
    KEEP(&shared);
}

SCENE void read_or_new(int new) {
    shared.held = new ? NULL : read_later_bad();
    KEEP(&shared);
    char* block = NULL;
    if (new) {
        block = malloc(8);
    } else {
        block = shared.held;
    }
    KEEP(block);
    use(block);
    shared.held = NULL;
    KEEP(&shared);
    if (new) {
        free(block);
    }
    use(block);
    block = NULL; // loss(read_later_bad): overwritten block
    KEEP(block);
}

// As interpreters do: a variable points into a block that hardly ever changes.
SCENE void table_in_loop(int turns) {
    char* table = replaced_in_loop_bad();
    char* place = NULL;
    for (int turn = 0; turn < turns; turn++) {
        place = table + turn; // loss(replaced_in_loop_bad): overwritten place
        KEEP(place);
        use(place);
        if (turn == 1) {
            table = replacing_in_loop_bad();
        }
        KEEP(table);
    }
    table = NULL;
    KEEP(table);
    use(place);
} // loss(replacing_in_loop_bad): out-of-scope place

// What is known of a variable on one way goes on in another one.
SCENE void heir_on_one_way(int gone) {
    char* whole = gone ? passed_on_twice_bad() : kept_twice_bad();
    char* part = whole + 1;
    KEEP(part);
    if (gone) {
        whole = other;
    }
    KEEP(whole);
    forget_held();
    char* copy = part;
    KEEP(copy);
    part = NULL;
    KEEP(part);
    forget_held();
    copy = NULL; // loss(passed_on_twice_bad): overwritten copy
    KEEP(copy);
    forget_held();
    whole = NULL; // loss(kept_twice_bad): overwritten whole
    KEEP(whole);
}

// What the block of one way was is no reference after it was freed.
SCENE void freed_on_one_way(int freed) {
    char* whole = freed_elsewhere_bad();
    char* part = whole + 1;
    KEEP(part);
    if (freed) {
        char* own = malloc(8);
        part = own;
        KEEP(part);
        free(own);
    }
    forget_held();
    KEEP(part);
    part = NULL;
    KEEP(part);
    forget_held();
    whole = NULL; // loss(freed_elsewhere_bad): overwritten whole
    KEEP(whole);
}

// The ways to a statement are noted apart, and on the way that was taken another
// variable is the last holder only once that statement has changed the first one.
SCENE void copied_on_one_way(int copied, int cleared) {
    char* whole = copied ? copied_before_bad() : NULL;
    char* part = NULL;
    if (copied) {
        part = whole;
    } else {
        part = other;
    }
    KEEP(part);
    int steps = 0;
    if (cleared) {
        part = NULL;
        steps++;
    } else {
        steps += 2;
    }
    whole = NULL;
    part = NULL; // loss(copied_before_bad): overwritten part
    KEEP(whole);
    KEEP(part);
    KEEP(steps);
}

int main(int argc, char** argv) {
    (void)argv;
    copied_on_one_way(argc > 0, argc > 9);
    rare_way(argc > 0);
    usual_way(argc > 9);
    parts_of_one_way(argc > 0);
    copied_either_way(argc > 9);
    copied_either_way(argc > 0);
    held_by_some(argc > 0);
    held_by_some(argc > 9);
    holder_on_one_way(argc > 0);
    holder_on_one_way(argc > 9);
    memory_on_one_way(argc > 0);
    memory_on_one_way(argc > 9);
    read_or_new(argc > 0);
    read_or_new(argc > 9);
    table_in_loop(argc + 3);
    heir_on_one_way(argc > 0);
    heir_on_one_way(argc > 9);
    freed_on_one_way(argc > 0);
    freed_on_one_way(argc > 9);
    scrub();
    return 0;
}
