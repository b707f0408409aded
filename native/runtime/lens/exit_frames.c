#include "lens/exit_frames.h"

#include <string.h>

#include "stack/stack.h"

// Far more than the end of a program ever needs.
enum { STEPS_MAX = 64 };

static bool has_prefix(const char* text, const char* prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_exit_machinery(uintptr_t pc) {
    struct ll_module module;
    uint32_t id = ll_module_at(pc);
    if (id == 0 || !ll_module_get(id, &module)) {
        return false;
    }
    if (id == ll_module_at((uintptr_t)&ll_exit_caller)) {
        return true;
    }
    const char* slash = strrchr(module.path, '/');
    const char* name = slash == NULL ? module.path : slash + 1;
    return has_prefix(name, "libc.so") || has_prefix(name, "libc-") ||
           has_prefix(name, "ld-linux") || has_prefix(name, "ld-2");
}

// At a call only these registers keep their value for the caller.
static void keep_callee_saved(struct ll_registers* registers) {
    static const uint16_t scratch =
        1 << LL_RAX | 1 << LL_RDX | 1 << LL_RCX | 1 << LL_RSI | 1 << LL_RDI | 0xf << 8;
    for (unsigned i = 0; i < 16; i++) {
        if ((scratch >> i & 1) != 0) {
            registers->general[i] = 0;
        }
    }
}

bool ll_exit_caller(const struct ll_registers* self, struct ll_registers* caller) {
    *caller = *self;
    uintptr_t cfa = 0;
    unsigned steps = 0;
    while (is_exit_machinery(caller->pc)) {
        if (++steps > STEPS_MAX || !ll_unwind_step(caller, &cfa)) {
            return false;
        }
    }
    keep_callee_saved(caller);
    return steps > 0;
}
