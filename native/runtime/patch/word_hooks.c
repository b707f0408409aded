#include "patch/word_hooks.h"

#include <stddef.h>

#include "patch/births.h"
#include "patch/hooks.h"
#include "patch/shadow.h"

LL_IN_HOOK static struct ll_storer storer_of(const struct ll_word_store* store) {
    return (struct ll_storer){.caller = store->caller,
                              .place = &store->place,
                              .rbp = ll_saved_rbp(store),
                              .pushed_bytes = LL_PUSHED_BY_WORDS};
}

LL_IN_HOOK static void lose_words(const struct ll_word_store* store, unsigned words) {
    if (!ll_hooks_is_stack(store->slot)) {
        struct ll_storer storer = storer_of(store);
        ll_hooks_stamp_range(store->slot, words * sizeof(uint64_t), &storer);
    }
}

LL_IN_HOOK static void bear_words(const struct ll_word_store* store, unsigned words) {
    if (ll_hooks_is_stack(store->slot)) {
        return;
    }
    struct ll_storer storer = storer_of(store);
    struct ll_origin origin = {0};
    for (unsigned i = 0; i < words; i++) {
        const uint64_t* slot = (const uint64_t*)store->slot + i;
        if (ll_hooks_is_reference(*slot)) {
            if (origin.place == 0) {
                origin = ll_origin_of(&storer);
            }
            ll_births_note((uintptr_t)slot, *slot, origin);
        }
    }
}

_Static_assert(offsetof(struct ll_hook_table, lose_words) == LL_ENTRY_LOSE_WORDS &&
                   offsetof(struct ll_hook_table, bear_words) == LL_ENTRY_BEAR_WORDS,
               "assembly calls through them");

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

void ll_word_hooks_fill(struct ll_hook_table* table) {
    ll_hook* const lose[4] = {lose_1, lose_2, lose_4, lose_8};
    ll_hook* const bear[4] = {bear_1, bear_2, bear_4, bear_8};
    for (unsigned i = 0; i < 4; i++) {
        table->by_words[i] = lose[i];
        table->after_words[i] = bear[i];
    }
    table->lose_words = lose_words;
    table->bear_words = bear_words;
}
