// Hooks for stores of words that call C: slower than plain stamps, for births of
// references and for whole call stacks.
#pragma once
#include "patch/hook_table.h"

// Puts them in place of those that only stamp losses.
void ll_word_hooks_fill(struct ll_hook_table* table);
