// Where `leakline cc` leaves out notes, since another holder keeps the block: what is
// lost behind the rule is found all the same. A comment `loss(NAME): CAUSE SLOT` marks
// the line that loses what the function NAME allocated.
#include "corpus.h"

#include <pthread.h>

struct holder {
    char* held;
    struct holder* next;
};

struct group {
    char* first;
    struct holder holders[3];
    char* last;
};

static struct holder shared;
static char* other;

ALLOCATES(held_by_copy_bad)
ALLOCATES(held_by_original_bad)
ALLOCATES(copy_may_be_null_bad)
ALLOCATES(heir_of_two_bad)
ALLOCATES(memory_overwritten_bad)
ALLOCATES(memory_lost_by_callee_bad)
ALLOCATES(memory_freed_bad)
ALLOCATES(memory_filled_bad)
ALLOCATES(holder_of_memory_lost_indirect_bad)
ALLOCATES(untouched_parameter_bad)
ALLOCATES(stepped_and_copied_bad)
ALLOCATES(same_value_again_bad)
ALLOCATES(given_again_bad)
ALLOCATES(found_by_library_bad)
ALLOCATES(kept_by_global_bad)
// Missed by the checker: a function that is called by its address may keep a block.
ALLOCATES(FN_passed_by_address_bad)
// Missed by the checker: so may the library.
ALLOCATES(FN_passed_by_library_bad)
ALLOCATES(held_by_dropped_bad)
ALLOCATES(kept_by_callee_bad)
ALLOCATES(argument_of_keeper_bad)
ALLOCATES(other_argument_bad)
ALLOCATES(first_of_group_bad)
ALLOCATES(last_of_group_bad)
ALLOCATES(read_twice_bad)
ALLOCATES(still_held_ok)

// A variable that shares its block passes it on.
SCENE void copies(int never) {
    char* first = held_by_copy_bad();
    char* copy = first;
    KEEP(copy);
    first = NULL;
    KEEP(first);
    copy = NULL; // loss(held_by_copy_bad): overwritten copy
    KEEP(copy);
    char* original = held_by_original_bad();
    char* gone = original + 1;
    KEEP(gone);
    gone = NULL;
    KEEP(gone);
    original = NULL; // loss(held_by_original_bad): overwritten original
    KEEP(original);
    char* maybe = copy_may_be_null_bad();
    char* choice = NULL;
    if (never) {
        choice = maybe;
    }
    maybe = other; // loss(copy_may_be_null_bad): overwritten maybe
    KEEP(maybe);
    KEEP(choice);
    char* root = heir_of_two_bad();
    char* left = root;
    char* right = root + 2;
    root = other;
    left = other;
    KEEP(root);
    KEEP(left);
    KEEP(right);
    right = other; // loss(heir_of_two_bad): overwritten right
    KEEP(right);
}

SCENE void forget_held(void) {
    shared.held = NULL;
}

// A variable that was read from memory is not the last holder until memory loses it.
SCENE void readings(void) {
    shared.held = memory_overwritten_bad();
    char* reading = shared.held;
    shared.held = NULL;
    KEEP(reading);
    reading = other; // loss(memory_overwritten_bad): overwritten reading
    shared.held = memory_lost_by_callee_bad();
    reading = shared.held;
    forget_held();
    KEEP(reading);
    reading = other; // loss(memory_lost_by_callee_bad): overwritten reading
    struct holder* box = calloc(1, sizeof *box);
    KEEP(box);
    box->held = memory_freed_bad();
    reading = box->held;
    free(box);
    KEEP(reading);
    reading = other; // loss(memory_freed_bad): overwritten reading
    shared.held = memory_filled_bad();
    reading = shared.held;
    memset(&shared, 0, sizeof shared);
    KEEP(&shared);
    KEEP(reading);
    reading = other; // loss(memory_filled_bad): overwritten reading
    KEEP(reading);
}

// The memory that a variable was read from goes with its own last reference.
SCENE void reading_of_lost_holder(void) {
    struct holder* box = calloc(1, sizeof *box);
    KEEP(box);
    box->held = holder_of_memory_lost_indirect_bad();
    char* reading = box->held;
    box = NULL; // loss(reading_of_lost_holder): overwritten box
    KEEP(box);
    KEEP(reading);
}

// A function that leaves a parameter alone leaves the loss to its caller.
SCENE void use(const char* parameter) {
    KEEP(parameter);
}

SCENE void passes(void) {
    char* passed = untouched_parameter_bad();
    use(passed);
    KEEP(passed);
} // loss(untouched_parameter_bad): out-of-scope passed

SCENE char* itself(char* block) {
    KEEP(block);
    return block;
}

SCENE void steps(void) {
    char* walker = stepped_and_copied_bad();
    char* start = walker;
    walker++;
    KEEP(walker);
    start = NULL;
    walker += 3;
    KEEP(start);
    KEEP(walker);
    walker = NULL; // loss(stepped_and_copied_bad): overwritten walker
    KEEP(walker);
    char* given = given_again_bad();
    KEEP(given);
    given = itself(given);
    KEEP(given);
    given = NULL; // loss(given_again_bad): overwritten given
    KEEP(given);
    char* same = same_value_again_bad();
    shared.held = same;
    shared.held = same;
    KEEP(&shared);
    same = NULL;
    KEEP(same);
    shared.held = NULL; // loss(same_value_again_bad): overwritten shared.held
    KEEP(&shared);
}

// The words of an aggregate are looked at together; most of them hold nothing.
SCENE void groups(void) {
    struct group full = {0};
    full.first = first_of_group_bad();
    full.last = last_of_group_bad();
    KEEP(&full);
    full.first = NULL; // loss(first_of_group_bad): overwritten full.first
    KEEP(&full);
} // loss(last_of_group_bad): out-of-scope full.last

// Two variables that end together hold the same: the one that ends last loses it.
SCENE void readings_that_end_together(void) {
    shared.held = read_twice_bad();
    KEEP(&shared);
    char* one = shared.held;
    char* two = shared.held;
    forget_held();
    KEEP(one);
    KEEP(two);
} // loss(read_twice_bad): out-of-scope one

SCENE void library(void) {
    char* text = found_by_library_bad();
    strcpy(text, "one two");
    char* found = strchr(text, ' ');
    text = NULL;
    KEEP(text);
    KEEP(found);
    found = NULL; // loss(found_by_library_bad): overwritten found
    KEEP(found);
}

SCENE void globals(void) {
    char* kept = kept_by_global_bad();
    other = kept;
    KEEP(&other);
    kept = NULL;
    KEEP(kept);
    other = still_held_ok(); // loss(kept_by_global_bad): overwritten other
    KEEP(&other);
}

// A function whose address is taken may be called by the program or by a library; only
// the program's own code holds what it passes.
SCENE void take_over(void* given) {
    KEEP(given);
} // loss(FN_passed_by_library_bad): out-of-scope given

SCENE void call(void (*function)(void*)) {
    char* held = FN_passed_by_address_bad();
    function(held);
    KEEP(held);
} // loss(FN_passed_by_address_bad): out-of-scope held

// Frees on every way, unless there is nothing to free.
SCENE void drop(struct holder* holder) {
    if (holder == NULL) {
        return;
    }
    drop(holder->next);
    free(holder); // loss(held_by_dropped_bad): container-freed holder->held
    KEEP(&shared);
}

SCENE void drop_if(int wanted, char* block) {
    if (wanted) {
        free(block);
    }
}

SCENE void drop_second(char* kept, char* block) {
    KEEP(kept);
    free(block);
}

// A variable whose block a callee surely frees loses nothing, any other one does.
SCENE void dropped(int never) {
    struct holder* first = calloc(1, sizeof *first);
    first->next = calloc(1, sizeof *first);
    first->next->held = held_by_dropped_bad();
    drop(first);
    char* maybe = kept_by_callee_bad();
    drop_if(never, maybe);
    KEEP(maybe);
    maybe = NULL; // loss(kept_by_callee_bad): overwritten maybe
    KEEP(maybe);
    shared.held = argument_of_keeper_bad();
    KEEP(&shared);
    drop_if(never, shared.held);
    shared.held = NULL; // loss(argument_of_keeper_bad): overwritten shared.held
    KEEP(&shared);
    char* both = other_argument_bad();
    drop_second(both, malloc(8));
    both = NULL; // loss(other_argument_bad): overwritten both
    KEEP(both);
}

static pthread_key_t key;

static void* leave_to_library(void* unused) {
    pthread_setspecific(key, FN_passed_by_library_bad());
    return unused;
}

SCENE void call_in_library(void (*function)(void*)) {
    pthread_t thread;
    pthread_key_create(&key, function);
    pthread_create(&thread, NULL, leave_to_library, NULL);
    pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
    (void)argv;
    copies(argc > 9);
    readings();
    reading_of_lost_holder();
    passes();
    steps();
    groups();
    readings_that_end_together();
    library();
    globals();
    dropped(argc > 9);
    call(take_over);
    call_in_library(take_over);
    scrub();
    return 0;
}
