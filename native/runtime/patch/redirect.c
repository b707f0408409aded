#include "patch/redirect.h"

#include <string.h>
#include <sys/mman.h>

#include "os/memory.h"
#include "os/syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { JUMP_LENGTH = 5, MARKER_LENGTH = 4, FUNCTION_ALIGNMENT = 16 };

static const uint8_t branch_target_marker[MARKER_LENGTH] = {0xf3, 0x0f, 0x1e, 0xfa};

// Where the function's `ret` is followed by padding that a jump may take. Functions are
// aligned, so what lies between the return and the next one is never run.
static bool is_empty(uintptr_t function) {
    const uint8_t* code = (const uint8_t*)function;
    bool marked = memcmp(code, branch_target_marker, MARKER_LENGTH) == 0;
    enum { RETURN = 0xc3 };
    return function % FUNCTION_ALIGNMENT == 0 &&
           code[marked ? MARKER_LENGTH : 0] == RETURN;
}

// A page within reach of a jump from `function`.
static uint8_t* map_near(uintptr_t function) {
    const uintptr_t step = (uintptr_t)1 << 24;
    uintptr_t page = function & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    for (int i = 1; i < 64; i++) {
        page -= step;
        long result =
            ll_syscall(SYS_mmap, page, LL_PAGE_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (result == (long)page) {
            return (uint8_t*)page;
        }
        if (result > 0) {
            ll_syscall(SYS_munmap, result, LL_PAGE_SIZE);
        }
    }
    return NULL;
}

// jmp [rip]; the address follows.
static bool write_stub(uint8_t* stub, void (*hook)(void)) {
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(stub, jump, sizeof jump);
    memcpy(stub + sizeof jump, &hook, sizeof hook);
    return ll_syscall(SYS_mprotect, stub, LL_PAGE_SIZE, PROT_READ | PROT_EXEC) == 0;
}

static bool write_jump(uintptr_t function, const uint8_t* stub) {
    uint8_t jump[JUMP_LENGTH] = {0xe9};
    int32_t distance = (int32_t)((intptr_t)stub - (intptr_t)(function + JUMP_LENGTH));
    memcpy(jump + 1, &distance, sizeof distance);
    uintptr_t page = function & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    if (ll_syscall(SYS_mprotect, page, LL_PAGE_SIZE,
                   PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        return false;
    }
    memcpy((void*)function, jump, sizeof jump);
    return ll_syscall(SYS_mprotect, page, LL_PAGE_SIZE, PROT_READ | PROT_EXEC) == 0;
}

bool ll_redirect_empty(uintptr_t function, void (*hook)(void)) {
    if (!is_empty(function)) {
        return false;
    }
    uint8_t* stub = map_near(function);
    return stub != NULL && write_stub(stub, hook) && write_jump(function, stub);
}
