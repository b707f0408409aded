// One module whose stores run through trampolines, and the two things done to it: its
// trampolines get room, and its text is replaced.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/patch.h"

struct ll_patched {
    struct ll_plan plan; // stays mapped; header NULL when the entry is not in use
    uintptr_t bias;
    uintptr_t text_start;
    size_t text_size;
    uint8_t* unmapped; // one byte per mapping of the plan: 1 where it found no room
    bool lacks_room;   // for some of its trampolines
    bool is_loaded;    // as far as the census knows
};

// Maps all trampolines whose addresses are free; notes the others in `unmapped`.
void ll_room_take(struct ll_patched* module);
void ll_room_give_back(struct ll_patched* module);

// True when the loaded text is what the plan was made for, byte for byte as far as a
// checksum can tell.
bool ll_text_is_original(const struct ll_patched* module);

// Puts the patched text in place. Instructions whose trampolines have no room keep
// running as they are. Returns the number of stores that are seen now; an errno in
// `refused` when the system forbids it, and then nothing is changed.
uint32_t ll_text_patch(struct ll_patched* module, int* refused);

// Writes the original instructions back. False when the system forbids it.
bool ll_text_restore(const struct ll_patched* module);
