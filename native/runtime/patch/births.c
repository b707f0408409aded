#include "patch/births.h"

#include "os/memory.h"
#include "patch/hooks.h"
#include "patch/origin.h"
#include "patch/shadow.h"

// The last store of a heap pointer to one of the slots that share the entry.
struct note {
    uintptr_t slot;
    uintptr_t pointer; // what was stored; another one came by a way nobody saw
    struct ll_origin origin;
};

enum { NOTES = 1 << 20 };

bool ll_births_on;
static struct note* notes;

bool ll_births_start(void) {
    notes = ll_memory_map(NOTES * sizeof *notes);
    ll_births_on = notes != NULL;
    return ll_births_on;
}

LL_IN_HOOK static struct note* note_of(uintptr_t slot) {
    return &notes[slot / sizeof(uint64_t) % NOTES];
}

LL_IN_HOOK static struct ll_birth* birth_of(uintptr_t pointer) {
    return (struct ll_birth*)((uintptr_t)ll_stamp_of(pointer) + LL_BIRTH_DELTA);
}

LL_IN_HOOK static bool is_for(const struct note* note, uintptr_t slot,
                              uintptr_t pointer) {
    return note->slot == slot && (note->pointer ^ pointer) / LL_GRANULE_BYTES == 0;
}

LL_IN_HOOK struct ll_birth ll_birth_in(uintptr_t slot, uintptr_t pointer) {
    const struct note* note = note_of(slot);
    if (!is_for(note, slot, pointer)) {
        return (struct ll_birth){0};
    }
    return (struct ll_birth){note->origin.caller, note->origin.place, LL_BIRTH_KNOWN};
}

LL_IN_HOOK void ll_births_carry(uintptr_t slot, uintptr_t pointer) {
    *birth_of(pointer) = ll_birth_in(slot, pointer);
}

void ll_births_carry_at(uintptr_t slot, uintptr_t pointer, uint64_t clock) {
    struct ll_birth birth = ll_birth_in(slot, pointer);
    birth.is_known = birth.is_known != 0 ? ll_birth_known_at(clock) : 0;
    *birth_of(pointer) = birth;
}

void ll_births_move(uintptr_t from, uintptr_t to, const uint64_t* words, size_t count) {
    for (size_t i = 0; i < count; i++, from += sizeof *words, to += sizeof *words) {
        const struct note* note = note_of(from);
        if (words[i] >> 40 == LL_HEAP_TAG && is_for(note, from, words[i])) {
            struct note moved = *note;
            moved.slot = to;
            *note_of(to) = moved;
        }
    }
}

struct ll_birth ll_birth_at(uintptr_t pointer) {
    return *birth_of(pointer);
}

LL_IN_HOOK void ll_births_note(uintptr_t slot, uintptr_t pointer,
                               struct ll_origin origin) {
    *note_of(slot) = (struct note){slot, pointer, origin};
}
