#include "stack/handed.h"

enum { CODE_MAX = 64 };

_Atomic intptr_t ll_handed_offset;

struct code {
    _Atomic uintptr_t start;
    _Atomic uintptr_t end;
};

// Written by one thread at a time, while the loader tells what is loaded.
static struct code code[CODE_MAX];
static _Atomic uint32_t code_count;

static uintptr_t thread_pointer(void) {
    uintptr_t pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

bool ll_handed_add_code(uintptr_t start, uintptr_t end, const uint64_t* variable) {
    intptr_t offset = (intptr_t)((uintptr_t)variable - thread_pointer());
    intptr_t known = atomic_load(&ll_handed_offset);
    uint32_t count = atomic_load(&code_count);
    if ((known != 0 && known != offset) || count == CODE_MAX) {
        return false;
    }
    atomic_store(&code[count].start, start);
    atomic_store(&code[count].end, end);
    atomic_store(&code_count, count + 1);
    atomic_store(&ll_handed_offset, offset);
    return true;
}

void ll_handed_forget_code(void) {
    atomic_store(&code_count, 0);
}

bool ll_hands_over(uintptr_t pc) {
    uint32_t count = atomic_load(&code_count);
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&code[i].start) <= pc && pc < atomic_load(&code[i].end)) {
            return true;
        }
    }
    return false;
}
