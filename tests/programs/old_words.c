// A block that only an old word refers to: the memory of a freed block was taken again
// and never filled. Lens `reach` cannot know, unless freed blocks are cleared.
#include "corpus.h"

enum { WORDS = 20 };

static char** first;
static char** second;

CASE char* hidden_by_old_word_bad(void) {
    return malloc(700);
}

CASE char** take(void) {
    return malloc(WORDS * sizeof(char*));
}

int main(void) {
    first = take();
    first[WORDS / 2] = hidden_by_old_word_bad();
    free(first);
    second = take();
    first = NULL;
    KEEP(&first);
    KEEP(&second);
    scrub();
    return 0;
}
