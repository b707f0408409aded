// Where the references were created that memory lost last, as `leakline cc --births`
// sees it: a comment `birth(NAME)` marks the line that gave a slot its reference to
// what was allocated under the function NAME, or the next line where it stands alone.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "corpus.h"

struct pair {
    char* first;
    char* second;
};

ALLOCATES(in_member_bad)
ALLOCATES(in_second_element_bad)
ALLOCATES(given_twice_bad)
ALLOCATES(in_copied_struct_bad)
ALLOCATES(in_moved_words_bad)
ALLOCATES(in_callee_bad)
ALLOCATES(in_union_bad)
ALLOCATES(exchanged_bad)
// Missed by the checker: it does not follow comparing exchanges.
ALLOCATES(FN_compared_bad)
ALLOCATES(in_static_bad)
ALLOCATES(in_thread_local_bad)
ALLOCATES(in_variable_bad)
ALLOCATES(in_container_bad)
ALLOCATES(in_filled_bad)
// Missed by the checker: what assembly does to memory is not known.
ALLOCATES(FN_by_assembly_bad)
// Missed by the checker: getline allocates anew only where the size is 0.
ALLOCATES(FN_before_getline_bad)
ALLOCATES(second_of_two_bad)
// Missed by the checker: a function that is called by its address may keep a block.
ALLOCATES(FN_by_other_thread_bad)

SCENE void members(void) {
    struct pair pair = {0};
    pair.second = in_member_bad(); // birth(in_member_bad)
    KEEP(&pair);
}

SCENE void elements(void) {
    char* list[3] = {0};
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            list[i] = in_second_element_bad(); // birth(in_second_element_bad)
        }
    }
    KEEP(list);
}

SCENE void twice(struct pair* pair) {
    pair->first = given_twice_bad();
    pair->second = pair->first;
    pair->first = NULL;
    pair->first = pair->second; // birth(given_twice_bad)
    pair->second = NULL;
    pair->first = NULL;
}

SCENE void copied(struct pair* target) {
    struct pair source = {in_copied_struct_bad(), NULL};
    *target = source; // birth(in_copied_struct_bad)
    source.first = NULL;
    KEEP(&source);
    target->first = NULL;
}

SCENE void moved(void) {
    static char* words[100];
    words[0] = in_moved_words_bad();
    KEEP(words);
    // birth(in_moved_words_bad)
    memmove(words + 1, words, sizeof words - sizeof *words);
    words[0] = NULL;
    KEEP(words);
    words[1] = NULL;
    KEEP(words);
}

SCENE void fill(struct pair* pair) {
    pair->first = in_callee_bad(); // birth(in_callee_bad)
}

SCENE void callee(void) {
    struct pair pair;
    fill(&pair);
    KEEP(&pair);
}

SCENE void in_union(void) {
    static union {
        uintptr_t number;
        char* text;
    } either;
    either.text = in_union_bad();
    KEEP(&either);
    either.number += 8; // birth(in_union_bad)
    KEEP(&either);
    either.number = 0;
    KEEP(&either);
}

SCENE void exchanges(void) {
    static _Atomic(char*) slot;
    atomic_exchange(&slot, exchanged_bad()); // birth(exchanged_bad)
    atomic_exchange(&slot, NULL);
    char* nothing = NULL;
    // birth(FN_compared_bad)
    atomic_compare_exchange_strong(&slot, &nothing, FN_compared_bad());
    atomic_store(&slot, NULL);
}

static _Thread_local char* of_thread;

SCENE void statics(void) {
    static char* slot;
    slot = in_static_bad(); // birth(in_static_bad)
    KEEP(&slot);
    slot = NULL;
    KEEP(&slot);
    of_thread = in_thread_local_bad(); // birth(in_thread_local_bad)
    KEEP(&of_thread);
    of_thread = NULL;
    KEEP(&of_thread);
}

// A birth in memory that is older than the variable's.
SCENE void variable(struct pair* pair) {
    pair->first = in_variable_bad();
    KEEP(pair);
    char* held = pair->first; // birth(in_variable_bad)
    pair->first = NULL;
    KEEP(pair);
    KEEP(held);
}

SCENE void container(void) {
    struct pair* pair = calloc(1, sizeof *pair);
    pair->second = in_container_bad(); // birth(in_container_bad)
    KEEP(pair);
    free(pair);
}

SCENE void filled(void) {
    static char* words[64];
    words[40] = in_filled_bad(); // birth(in_filled_bad)
    KEEP(words);
    memset(words, 0, sizeof words);
    KEEP(words);
}

SCENE void assembly(struct pair* pair) {
    char* block = FN_by_assembly_bad();
    // birth(FN_by_assembly_bad)
    __asm__ volatile("movq %1, %0" : "=m"(pair->first) : "r"(block));
    block = NULL;
    pair->first = NULL;
}

SCENE void lines(void) {
    char text[] = "one\ntwo\n";
    FILE* stream = fmemopen(text, sizeof text - 1, "r");
    static char* line;
    static size_t size;
    line = FN_before_getline_bad(); // birth(FN_before_getline_bad)
    KEEP(&line);
    KEEP(getline(&line, &size, stream));
    free(line);
    line = NULL;
    fclose(stream);
}

// Two births of one slot, each with its own block.
SCENE void one_after_the_other(struct pair* pair) {
    char* first = malloc(16);
    pair->first = first;
    pair->first = second_of_two_bad(); // birth(second_of_two_bad)
    free(first);
    first = NULL;
    pair->first = NULL;
}

static char* shared;

static void* create(void* unused) {
    shared = FN_by_other_thread_bad(); // birth(FN_by_other_thread_bad)
    return unused;
}

SCENE void threads(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, create, NULL);
    pthread_join(thread, NULL);
    shared = NULL;
    KEEP(&shared);
}

int main(void) {
    static struct pair pair;
    members();
    elements();
    twice(&pair);
    copied(&pair);
    moved();
    callee();
    in_union();
    exchanges();
    statics();
    variable(&pair);
    container();
    filled();
    assembly(&pair);
    lines();
    one_after_the_other(&pair);
    threads();
    scrub();
    return 0;
}
