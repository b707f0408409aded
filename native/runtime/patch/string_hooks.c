#include "patch/string_hooks.h"

#include <stddef.h>

#include "patch/births.h"
#include "patch/hooks.h"
#include "patch/shadow.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// What a string instruction reads or writes: from its lowest byte on.
LL_IN_HOOK static uintptr_t lowest(const struct ll_string_store* store, uintptr_t start,
                                   unsigned unit_shift) {
    enum { DIRECTION = 1 << 10 };
    bool is_downwards = (store->flags & DIRECTION) != 0;
    return is_downwards ? start - ((store->count - 1) << unit_shift) : start;
}

LL_IN_HOOK static struct ll_storer storer_of(const struct ll_string_store* store) {
    return (struct ll_storer){.caller = store->caller,
                              .place = &store->place,
                              .rbp = ll_saved_rbp(store),
                              .pushed_bytes = LL_PUSHED_BY_STRING};
}

// Strings on the current stack are left alone.
LL_IN_HOOK static bool is_empty(const struct ll_string_store* store) {
    return store->count == 0 || ll_hooks_is_stack(store->start);
}

LL_IN_HOOK static void lose_string(const struct ll_string_store* store,
                                   unsigned unit_shift) {
    if (!is_empty(store)) {
        struct ll_storer storer = storer_of(store);
        uintptr_t start = lowest(store, store->start, unit_shift);
        ll_hooks_stamp_range(start, store->count << unit_shift, &storer);
    }
}

typedef uint64_t unaligned_word __attribute__((aligned(1), may_alias));

// Notes births of what is about to be copied. Where the ranges overlap, a word may turn
// out to be another one: its note is for a pointer that is not there then.
LL_IN_HOOK static void bear_copies(const struct ll_string_store* store,
                                   unsigned unit_shift) {
    uintptr_t to = lowest(store, store->start, unit_shift);
    uintptr_t from = lowest(store, ll_saved_rsi(store), unit_shift);
    uintptr_t end = to + (store->count << unit_shift);
    struct ll_storer storer = storer_of(store);
    struct ll_origin origin = {0};
    for (uintptr_t slot = (to + 7) & ~(uintptr_t)7; slot + 8 <= end; slot += 8) {
        uint64_t word = *(const unaligned_word*)(from + (slot - to));
        if (ll_hooks_is_reference(word)) {
            if (origin.place == 0) {
                origin = ll_origin_of(&storer);
            }
            ll_births_note(slot, word, origin);
        }
    }
}

LL_IN_HOOK static void copy_string(const struct ll_string_store* store,
                                   unsigned unit_shift) {
    lose_string(store, unit_shift);
    if (!is_empty(store)) {
        bear_copies(store, unit_shift);
    }
}

// Pushes a struct ll_string_store above the saved registers and calls for it, by the
// table, since a static function has no name that assembly can rely on. The C code may
// run with the direction flag clear only.
// clang-format off: assembly reads best one line below the other
#define HOOK_FOR_STRING(name, load_count, entry, shift)                                \
    __attribute__((naked)) static void name(void) {                                    \
        __asm__("pushq %rax\n"                                                         \
                "pushfq\n"                                                             \
                "pushq %rcx\n"                                                         \
                load_count                                                             \
                "pushq %rdi\n"                                                         \
                "cld\n"                                                                \
                "pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rbp\n"                  \
                "pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n"                    \
                "leaq 64(%rsp), %rdi\n"                                                \
                "movl $" TEXT(shift) ", %esi\n"                                        \
                "movq %rsp, %rbp\n"                                                    \
                "andq $-16, %rsp\n"                                                    \
                "call *" TEXT(LL_HOOK_TABLE) " + " TEXT(entry) "\n"                    \
                "movq %rbp, %rsp\n"                                                    \
                "popq %r11\n popq %r10\n popq %r9\n popq %r8\n"                        \
                "popq %rbp\n popq %rsi\n popq %rdx\n popq %rcx\n"                      \
                "popq %rdi\n"                                                          \
                "leaq 8(%rsp), %rsp\n"                                                 \
                "popfq\n"                                                              \
                "popq %rax\n"                                                          \
                "ret\n");                                                              \
    }
// clang-format on

#define COUNTED ""
#define ONCE "movq $1, (%rsp)\n"

HOOK_FOR_STRING(lose_step, ONCE, LL_ENTRY_LOSE_STRING, 3)
HOOK_FOR_STRING(lose_bytes, COUNTED, LL_ENTRY_LOSE_STRING, 0)
HOOK_FOR_STRING(lose_pairs, COUNTED, LL_ENTRY_LOSE_STRING, 1)
HOOK_FOR_STRING(lose_quads, COUNTED, LL_ENTRY_LOSE_STRING, 2)
HOOK_FOR_STRING(lose_words, COUNTED, LL_ENTRY_LOSE_STRING, 3)
HOOK_FOR_STRING(copy_step, ONCE, LL_ENTRY_COPY_STRING, 3)
HOOK_FOR_STRING(copy_bytes, COUNTED, LL_ENTRY_COPY_STRING, 0)
HOOK_FOR_STRING(copy_pairs, COUNTED, LL_ENTRY_COPY_STRING, 1)
HOOK_FOR_STRING(copy_quads, COUNTED, LL_ENTRY_COPY_STRING, 2)
HOOK_FOR_STRING(copy_words, COUNTED, LL_ENTRY_COPY_STRING, 3)

_Static_assert(offsetof(struct ll_hook_table, lose_string) == LL_ENTRY_LOSE_STRING &&
                   offsetof(struct ll_hook_table, copy_string) == LL_ENTRY_COPY_STRING,
               "assembly calls through them");

void ll_string_hooks_fill(struct ll_hook_table* table) {
    ll_hook* const lose[4] = {lose_bytes, lose_pairs, lose_quads, lose_words};
    ll_hook* const copy[4] = {copy_bytes, copy_pairs, copy_quads, copy_words};
    for (unsigned i = 0; i < 4; i++) {
        table->by_unit[i] = lose[i];
        table->copy_by_unit[i] = copy[i];
    }
    table->for_step = lose_step;
    table->copy_step = copy_step;
    table->lose_string = lose_string;
    table->copy_string = copy_string;
}
