// Jumps that leave functions without returning from them. What their variables held is
// seen as far as code notes its own losses: elsewhere frames hold too much that is old.
#include <setjmp.h>
#include <stdint.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "entry/site.h"
#include "lens/jumps.h"
#include "lens/stamps.h"

// Where libc keeps the stack pointer in what setjmp saved, and how: mixed with a secret
// of the process, rotated.
enum { SAVED_SP = 6, ROTATION = 0x11, SECRET_OFFSET = 0x30 };

static uintptr_t target_of(const struct __jmp_buf_tag* place) {
    uintptr_t saved = (uintptr_t)place->__jmpbuf[SAVED_SP];
    uintptr_t secret =
        *(const uintptr_t*)((uintptr_t)__builtin_thread_pointer() + SECRET_OFFSET);
    return (saved >> ROTATION | saved << (64 - ROTATION)) ^ secret;
}

// Registers that callers expect to find again, in the order of a frame that saves all.
enum { SAVED_REGISTERS = 5 };

// To be used in the body of an entry function itself: it saves all registers that the
// callers may keep variables in, right below its frame pointer.
#define JUMP_OVER(place)                                                               \
    do {                                                                               \
        __builtin_unwind_init();                                                       \
        if (ll_stamps_on && ll_somebody_hands_over()) {                                \
            uintptr_t frame = (uintptr_t)__builtin_frame_address(0);                   \
            ll_jump_over(frame - SAVED_REGISTERS * sizeof(uint64_t), target_of(place), \
                         LL_SITE());                                                   \
        }                                                                              \
    } while (0)

LL_EXPORT void longjmp(struct __jmp_buf_tag place[1], int value) {
    JUMP_OVER(place);
    ll_real()->longjmp(place, value);
    __builtin_unreachable();
}

LL_EXPORT void _longjmp(struct __jmp_buf_tag place[1], int value) {
    JUMP_OVER(place);
    ll_real()->_longjmp(place, value);
    __builtin_unreachable();
}

LL_EXPORT void siglongjmp(struct __jmp_buf_tag place[1], int value) {
    JUMP_OVER(place);
    ll_real()->siglongjmp(place, value);
    __builtin_unreachable();
}

LL_EXPORT void __longjmp_chk(struct __jmp_buf_tag place[1], int value);
LL_EXPORT void __longjmp_chk(struct __jmp_buf_tag place[1], int value) {
    JUMP_OVER(place);
    ll_real()->__longjmp_chk(place, value);
    __builtin_unreachable();
}
