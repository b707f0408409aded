// A pile of addresses in memory from the system: the last one put on comes off first.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_picks_page;

struct ll_picks {
    struct ll_picks_page* top; // NULL while empty
};

// False without memory.
bool ll_picks_push(struct ll_picks* picks, uintptr_t address);

// False when the pile is empty, and all its memory is given back.
bool ll_picks_pop(struct ll_picks* picks, uintptr_t* address);
