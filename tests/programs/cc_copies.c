// Copies whose length only the run tells, as `leakline cc` sees them: a comment
// `loss(NAME): CAUSE SLOT` marks the line that loses what the function NAME allocated.
#include "corpus.h"

enum { LONGEST = 200 };

struct pair {
    char* key;
    char* value;
};

static char* few[2];
static char* many[40];
static char* row[4];
static char* source[40];

ALLOCATES(cleared_bad)
ALLOCATES(overwritten_by_pair_bad)
// Missed by the checker: it does not know how much is copied.
ALLOCATES(FN_overwritten_by_few_bad)
// Missed by the checker: it does not know how much is copied.
ALLOCATES(FN_overwritten_by_many_bad)
ALLOCATES(behind_the_copy_ok)
// Missed by the checker: it does not know how much is copied.
ALLOCATES(FN_moved_over_bad)
ALLOCATES(moved_ok)

// Without optimisation the C library does even this.
SCENE void clear_pair(struct pair* pair) {
    pair->value = cleared_bad();
    KEEP(pair);
    memset(pair, 0, sizeof *pair); // loss(cleared_bad): overwritten *pair
    KEEP(pair);
}

SCENE void copy_pair(struct pair* pair, const struct pair* other) {
    pair->value = overwritten_by_pair_bad();
    KEEP(pair);
    *pair = *other; // loss(overwritten_by_pair_bad): overwritten *pair
    KEEP(pair);
}

SCENE void copy_few(size_t bytes) {
    few[0] = FN_overwritten_by_few_bad();
    few[1] = behind_the_copy_ok();
    KEEP(few);
    memcpy(few, source, bytes); // loss(FN_overwritten_by_few_bad): overwritten few
    KEEP(few);
}

SCENE void copy_many(size_t bytes) {
    many[30] = FN_overwritten_by_many_bad();
    KEEP(many);
    memcpy(many, source, bytes); // loss(FN_overwritten_by_many_bad): overwritten many
    KEEP(many);
}

SCENE void move_overlapping(size_t bytes) {
    row[0] = FN_moved_over_bad();
    row[1] = moved_ok();
    KEEP(row);
    memmove(row, row + 1, bytes); // loss(FN_moved_over_bad): overwritten row
    KEEP(row);
}

// True when every byte is what it has to be after a copy from one place to another.
SCENE int is_moved(unsigned char* text, size_t to, size_t from, size_t bytes) {
    for (size_t i = 0; i < LONGEST + 32; i++) {
        text[i] = (unsigned char)i;
    }
    KEEP(text);
    memmove(text + to, text + from, bytes);
    KEEP(text);
    for (size_t i = 0; i < LONGEST + 32; i++) {
        size_t expected = i >= to && i < to + bytes ? i - to + from : i;
        if (text[i] != (unsigned char)expected) {
            return 0;
        }
    }
    return 1;
}

SCENE int count_wrong_moves(void) {
    unsigned char* text = malloc(LONGEST + 32);
    int wrong = 0;
    for (size_t bytes = 0; bytes <= LONGEST; bytes++) {
        for (size_t step = 0; step < 32; step += 3) {
            wrong += !is_moved(text, 0, step, bytes);
            wrong += !is_moved(text, step, 0, bytes);
        }
    }
    free(text);
    return wrong;
}

// What is copied wrongly ends the program before it loses anything.
int main(int argc, char** argv) {
    (void)argv;
    if (count_wrong_moves() != 0) {
        return 1;
    }
    struct pair* pair = calloc(2, sizeof *pair);
    clear_pair(pair);
    copy_pair(pair, pair + 1);
    free(pair);
    size_t word = (size_t)argc * sizeof *few;
    copy_few(word);
    copy_many(40 * word);
    move_overlapping(3 * word);
    scrub();
    return 0;
}
