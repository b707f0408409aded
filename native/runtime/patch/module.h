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
    uint8_t* rooms;  // of each mapping of the plan, an enum ll_room
    bool lacks_room; // for some of its trampolines
    bool is_patched; // else there is only a part of its trampolines
    bool is_loaded;  // as far as the census knows
};

enum ll_room { LL_ROOM_WANTED, LL_ROOM_TAKEN, LL_ROOM_REFUSED };

// Maps trampolines whose addresses are free; notes for the others that they have no
// room. First those in neighbouring pages, where most are, then all that are left.
void ll_room_take_dense(struct ll_patched* module);
void ll_room_take(struct ll_patched* module);

// Unmaps all that were mapped.
void ll_room_give_back(struct ll_patched* module);

// True when the loaded text is what the plan was made for, byte for byte as far as a
// checksum can tell.
bool ll_text_is_original(const struct ll_patched* module);

// Puts the patched text in place. Instructions whose trampolines have no room keep
// running as they are. Returns the number of stores that are seen now; an errno in
// `refused` when the system forbids it, and then nothing is changed.
uint32_t ll_text_patch(struct ll_patched* module, int* refused);

// Where the jump to the trampoline of a patch begins: a patch may be a short jump that
// leads to it.
uintptr_t ll_text_jump_of(const struct ll_patched* module,
                          const struct ll_plan_patch* patch);

enum { LL_JUMP_LENGTH = 5 };

// Writes the original instructions back. False when the system forbids it.
bool ll_text_restore(const struct ll_patched* module);
