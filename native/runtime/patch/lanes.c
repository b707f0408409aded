#include "patch/lanes.h"

#include <stddef.h>

#include "patch/hooks.h"
#include "patch/shadow.h"

_Static_assert(offsetof(struct ll_hook_table, lose_lanes) == LL_ENTRY_LOSE_LANES,
               "assembly calls through it");

enum { VECTOR_BYTES = 64, WORD_BYTES = 8, WHOLE_WORD = 0xff };

// One bit per byte that is written.
LL_IN_HOOK static uint64_t bytes_of(uint64_t lanes, unsigned lane_shift) {
    if (lane_shift == 0) {
        return lanes;
    }
    uint64_t lane = ((uint64_t)1 << (1U << lane_shift)) - 1;
    uint64_t bytes = 0;
    for (unsigned at = 0; at < VECTOR_BYTES; at += 1U << lane_shift) {
        bytes |= (lanes & 1) != 0 ? lane << at : 0;
        lanes >>= 1;
    }
    return bytes;
}

// Only what is written as a whole is looked at: the rest may not be readable.
LL_IN_HOOK static void lose_lanes(const struct ll_word_store* store, uint64_t lanes,
                                  unsigned lane_shift) {
    if (ll_hooks_is_stack(store->slot)) {
        return;
    }
    struct ll_storer storer = {.caller = store->caller,
                               .place = &store->place,
                               .rbp = ll_saved_rbp(store),
                               .pushed_bytes = LL_PUSHED_BY_LANES};
    uint64_t bytes = bytes_of(lanes, lane_shift);
    for (unsigned at = -store->slot % WORD_BYTES; at + WORD_BYTES <= VECTOR_BYTES;
         at += WORD_BYTES) {
        if ((bytes >> at & WHOLE_WORD) == WHOLE_WORD) {
            ll_hooks_stamp_range(store->slot + at, WORD_BYTES, &storer);
        }
    }
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// Pushes a struct ll_word_store below its place, which is the return address, and calls
// a C function for it. The mask is in rdx.
// clang-format off: assembly reads best one line below the other
#define HOOK(name, lane_shift)                                                         \
    __attribute__((naked)) static void name(void) {                                    \
        __asm__("pushq %rcx\n"                                                         \
                "pushq %rax\n"                                                         \
                "pushq %rsi\n pushq %rdi\n pushq %r8\n pushq %rbp\n"                   \
                "pushq %r9\n pushq %r10\n pushq %r11\n"                                \
                "leaq 56(%rsp), %rdi\n"                                                \
                "movq %rdx, %rsi\n"                                                    \
                "movl $" TEXT(lane_shift) ", %edx\n"                                   \
                "movq %rsp, %rbp\n"                                                    \
                "andq $-16, %rsp\n"                                                    \
                "call *" TEXT(LL_HOOK_TABLE) " + " TEXT(LL_ENTRY_LOSE_LANES) "\n"      \
                "movq %rbp, %rsp\n"                                                    \
                "popq %r11\n popq %r10\n popq %r9\n popq %rbp\n"                       \
                "popq %r8\n popq %rdi\n popq %rsi\n"                                   \
                "leaq 16(%rsp), %rsp\n"                                                \
                "ret\n");                                                              \
    }
// clang-format on

HOOK(lose_bytes, 0)
HOOK(lose_pairs, 1)
HOOK(lose_quads, 2)
HOOK(lose_words, 3)

void ll_lanes_fill(struct ll_hook_table* table) {
    ll_hook* const hooks[4] = {lose_bytes, lose_pairs, lose_quads, lose_words};
    for (unsigned i = 0; i < 4; i++) {
        table->by_lane[i] = hooks[i];
    }
    table->lose_lanes = lose_lanes;
}
