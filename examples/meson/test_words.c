// Each test is an argument: the program succeeds when the words are counted right.
#include <string.h>

#include "words.h"

static int has_words(const char* text, int expected) {
    struct words* words = words_of(text);
    int failed = words_count(words) != expected;
    words_free(words);
    return failed;
}

int main(int count, char** arguments) {
    const char* test = count > 1 ? arguments[1] : "";
    if (strcmp(test, "counts") == 0) {
        return has_words("to be or not to be", 6);
    }
    return strcmp(test, "skips") == 0 ? has_words("   ", 0) : 2;
}
