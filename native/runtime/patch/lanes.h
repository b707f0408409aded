// Hooks for vector stores that write only those lanes that a mask has.
#pragma once
#include "patch/hook_table.h"

void ll_lanes_fill(struct ll_hook_table* table);
