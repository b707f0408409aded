// Births of references, on request: which store put the pointer into the slot that a
// loss emptied. Every store of a heap pointer notes itself in a table by its slot; a
// loss copies the note of its slot beside the stamp, into a shadow of its own.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/origin.h"

// From the stamp of a granule to the birth of the reference that was lost there.
#define LL_BIRTH_DELTA 0x8000000000

struct ll_birth {
    uint64_t caller; // return address of the frame that stored, LL_ORIGIN_STACK or site
    uint32_t place;  // as in a stamp
    uint32_t is_known; // LL_BIRTH_KNOWN, or that of ll_birth_known_at; 0: not known
};

enum { LL_BIRTH_KNOWN = 1 };

// Of births that are kept for one loss only. Compiled code also stamps without keeping
// a birth, which leaves an older one beside the stamp.
static inline uint32_t ll_birth_known_at(uint64_t clock) {
    return (uint32_t)clock | UINT32_C(1) << 31;
}

// True once births are noted; fixed before the program's first instruction.
extern bool ll_births_on;

// Makes the table. False when there is no memory for it. The shadow is the caller's.
bool ll_births_start(void);

// A reference to `pointer` is stored into a slot.
void ll_births_note(uintptr_t slot, uintptr_t pointer, struct ll_origin origin);

// A reference in `slot` to `pointer` is about to go: keeps its birth.
void ll_births_carry(uintptr_t slot, uintptr_t pointer);

// The same, for the stamp of that time only.
void ll_births_carry_at(uintptr_t slot, uintptr_t pointer, uint64_t clock);

// Words moved from one address to another, as those of a block that grew do: births of
// the references among them stay the same.
void ll_births_move(uintptr_t from, uintptr_t to, const uint64_t* words, size_t count);

// The birth kept for the granule of `pointer`.
struct ll_birth ll_birth_at(uintptr_t pointer);

// The birth of the reference in `slot` to `pointer`, as long as it is there.
struct ll_birth ll_birth_in(uintptr_t slot, uintptr_t pointer);
