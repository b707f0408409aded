// Counts the words of a text.
#pragma once

struct words;

// Returns NULL when the text has no words.
struct words* words_of(const char* text);
int words_count(const struct words* words);
void words_free(struct words* words);
