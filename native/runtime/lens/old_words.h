// Old words: what freed blocks referred to. A program that takes the memory again and
// does not fill it makes such words look like references, which hide leaks. On request
// they are cleared when blocks are freed.
#pragma once
#include <stdint.h>

// Reads the option. Before the program's first instruction.
void ll_old_words_start(void);

// The words from `start` to `end` are about to be freed.
void ll_old_words_clear(uintptr_t start, uintptr_t end);
