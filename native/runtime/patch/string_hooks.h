// Hooks for string instructions, which overwrite as many words as a register tells.
#pragma once
#include "patch/hook_table.h"

void ll_string_hooks_fill(struct ll_hook_table* table);
