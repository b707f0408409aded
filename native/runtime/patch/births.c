#include "patch/births.h"

#include "os/memory.h"
#include "patch/hooks.h"
#include "patch/shadow.h"

// Code that hooks call: they save no vector registers.
#define IN_HOOK __attribute__((target("general-regs-only")))

// The last store of a heap pointer to one of the slots that share the entry.
struct note {
    uintptr_t slot;
    uintptr_t pointer; // what was stored; another one came by a way nobody saw
    uint64_t caller;
    uint64_t place;
};

enum { NOTES = 1 << 20, GRANULE = 16 };

bool ll_births_on;
static struct note* notes;

bool ll_births_start(void) {
    notes = ll_memory_map(NOTES * sizeof *notes);
    ll_births_on = notes != NULL;
    return ll_births_on;
}

IN_HOOK static struct note* note_of(uintptr_t slot) {
    return &notes[slot / sizeof(uint64_t) % NOTES];
}

IN_HOOK static struct ll_birth* birth_of(uintptr_t pointer) {
    return (struct ll_birth*)((pointer & -(uintptr_t)GRANULE) + LL_BIRTH_DELTA);
}

IN_HOOK static bool is_for(const struct note* note, uintptr_t slot, uintptr_t pointer) {
    return note->slot == slot && (note->pointer ^ pointer) / GRANULE == 0;
}

IN_HOOK void ll_births_carry(uintptr_t slot, uintptr_t pointer) {
    const struct note* note = note_of(slot);
    struct ll_birth* birth = birth_of(pointer);
    bool is_known = is_for(note, slot, pointer);
    birth->caller = is_known ? note->caller : 0;
    birth->place = is_known ? (uint32_t)note->place : 0;
    birth->is_known = is_known;
}

void ll_births_move(const uint64_t* from, const uint64_t* to, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes / sizeof *to; i++) {
        const struct note* note = note_of((uintptr_t)&from[i]);
        if (to[i] >> 40 == LL_HEAP_TAG && is_for(note, (uintptr_t)&from[i], to[i])) {
            struct note moved = *note;
            moved.slot = (uintptr_t)&to[i];
            *note_of(moved.slot) = moved;
        }
    }
}

struct ll_birth ll_birth_at(uintptr_t pointer) {
    return *birth_of(pointer);
}

IN_HOOK static void bear_words(const struct ll_word_store* store, unsigned words) {
    if (ll_hooks_is_stack(store->slot)) {
        return;
    }
    for (unsigned i = 0; i < words; i++) {
        const uint64_t* slot = (const uint64_t*)store->slot + i;
        if (*slot >> 40 == LL_HEAP_TAG) {
            *note_of((uintptr_t)slot) =
                (struct note){(uintptr_t)slot, *slot, store->caller, store->place};
        }
    }
}

IN_HOOK static void lose_words(const struct ll_word_store* store, unsigned words) {
    if (!ll_hooks_is_stack(store->slot)) {
        ll_hooks_stamp_range(store->slot, words * sizeof(uint64_t), store->caller,
                             (uint32_t)store->place);
    }
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// Pushes a struct ll_word_store below its place, which is the return address, and calls
// a C function for it.
// clang-format off: assembly reads best one line below the other
#define HOOK(name, entry, words)                                                       \
    __attribute__((naked)) static void name(void) {                                    \
        __asm__("pushq %rcx\n"                                                         \
                "pushq %rax\n"                                                         \
                "pushq %rdx\n pushq %rsi\n pushq %rdi\n pushq %rbp\n"                  \
                "pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n"                    \
                "leaq 64(%rsp), %rdi\n"                                                \
                "movl $" TEXT(words) ", %esi\n"                                        \
                "movq %rsp, %rbp\n"                                                    \
                "andq $-16, %rsp\n"                                                    \
                "call *" TEXT(LL_HOOK_TABLE) " + " TEXT(entry) "\n"                    \
                "movq %rbp, %rsp\n"                                                    \
                "popq %r11\n popq %r10\n popq %r9\n popq %r8\n"                        \
                "popq %rbp\n popq %rdi\n popq %rsi\n popq %rdx\n"                      \
                "leaq 16(%rsp), %rsp\n"                                                \
                "ret\n");                                                              \
    }
// clang-format on

HOOK(lose_1, LL_ENTRY_LOSE_WORDS, 1)
HOOK(lose_2, LL_ENTRY_LOSE_WORDS, 2)
HOOK(lose_4, LL_ENTRY_LOSE_WORDS, 4)
HOOK(lose_8, LL_ENTRY_LOSE_WORDS, 8)
HOOK(bear_1, LL_ENTRY_BEAR_WORDS, 1)
HOOK(bear_2, LL_ENTRY_BEAR_WORDS, 2)
HOOK(bear_4, LL_ENTRY_BEAR_WORDS, 4)
HOOK(bear_8, LL_ENTRY_BEAR_WORDS, 8)

void ll_births_fill(struct ll_hook_table* table) {
    ll_hook* const lose[4] = {lose_1, lose_2, lose_4, lose_8};
    ll_hook* const bear[4] = {bear_1, bear_2, bear_4, bear_8};
    for (unsigned i = 0; i < 4; i++) {
        table->by_words[i] = lose[i];
        table->after_words[i] = bear[i];
    }
    table->lose_words = lose_words;
    table->bear_words = bear_words;
}
