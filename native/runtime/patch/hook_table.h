// The table through which trampolines call, by the numbers they use (format/plan.md).
#pragma once
#include <stdint.h>

typedef void ll_hook(void);

struct ll_string_store {
    uintptr_t start; // rdi
    uint64_t count;  // rcx
    uint64_t flags;
    uint64_t caller;
    uint64_t place;
};

struct ll_word_store {
    uintptr_t slot;
    uint64_t caller;
    uint64_t place;
};

// Between a hook's return address and the stack pointer of its store lie the red zone
// and what the trampoline pushed.
enum {
    LL_PUSHED_BY_STRING = 128 + 8,
    LL_PUSHED_BY_WORDS = 128 + 16,
    LL_PUSHED_BY_LANES = 128 + 32,
};

// Hooks push rbp as the fourth word below what they tell of a store.
static inline uint64_t ll_saved_rbp(const void* store) {
    return ((const uint64_t*)store)[-4];
}

// And those of string instructions rsi as the third.
static inline uint64_t ll_saved_rsi(const struct ll_string_store* store) {
    return ((const uint64_t*)store)[-3];
}

// The last seven are for the hooks themselves: assembly has no name for C functions and
// variables that it could rely on.
struct ll_hook_table {
    ll_hook* by_words[4]; // stores of 1, 2, 4, 8 words
    ll_hook* for_step;
    ll_hook* by_unit[4];     // strings of 1, 2, 4, 8 bytes per step
    ll_hook* after_words[4]; // 1, 2, 4, 8 words have been stored
    ll_hook* by_lane[4];     // vectors with masks, by lanes of 1, 2, 4, 8 bytes
    ll_hook* copy_step;      // as for_step, of a copy, with births
    ll_hook* copy_by_unit[4];
    void (*lose_string)(const struct ll_string_store*, unsigned unit_shift);
    void (*copy_string)(const struct ll_string_store*, unsigned unit_shift);
    void (*lose_words)(const struct ll_word_store*, unsigned words);
    void (*bear_words)(const struct ll_word_store*, unsigned words);
    void (*lose_lanes)(const struct ll_word_store*, uint64_t lanes,
                       unsigned lane_shift);
    int64_t stack_end; // distance of the thread's `own_stack_end` from its pointer
    const uintptr_t* heap_bytes; // in use; it grows
};
#define LL_ENTRY_LOSE_STRING 176
#define LL_ENTRY_COPY_STRING 184
#define LL_ENTRY_LOSE_WORDS 192
#define LL_ENTRY_BEAR_WORDS 200
#define LL_ENTRY_LOSE_LANES 208
#define LL_ENTRY_STACK_END 216
#define LL_ENTRY_HEAP_BYTES 224
