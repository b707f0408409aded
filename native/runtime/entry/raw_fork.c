// Ways to fork that run no handlers: _Fork, and clone without a common memory. The heap
// must not stay shared between the two processes, so it is made private before.
#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "lens/pages.h"

LL_EXPORT pid_t _Fork(void);
LL_EXPORT pid_t _Fork(void) {
    ll_pages_unknown_fork();
    return ll_real()->_Fork();
}

typedef int cloned(void*);
typedef int clone_function(cloned*, void*, int, void*, void*, void*, void*);

// Called by `clone` below, which keeps its arguments.
__attribute__((used, externally_visible)) clone_function* ll_clone_begin(int flags);
clone_function* ll_clone_begin(int flags) {
    if ((flags & CLONE_VM) == 0) {
        ll_pages_unknown_fork();
    }
    return (clone_function*)ll_real()->clone;
}

// Its last arguments may be missing, so they are passed on as they came: five in
// registers, the others where the caller left them.
LL_EXPORT __attribute__((naked)) int
clone(__attribute__((unused)) cloned* function, __attribute__((unused)) void* stack,
      __attribute__((unused)) int flags, __attribute__((unused)) void* argument, ...) {
    __asm__("push %rdi\n\t"
            "push %rsi\n\t"
            "push %rdx\n\t"
            "push %rcx\n\t"
            "push %r8\n\t"
            "push %r9\n\t"
            "sub $8, %rsp\n\t"
            "mov %edx, %edi\n\t"
            "call ll_clone_begin\n\t"
            "add $8, %rsp\n\t"
            "pop %r9\n\t"
            "pop %r8\n\t"
            "pop %rcx\n\t"
            "pop %rdx\n\t"
            "pop %rsi\n\t"
            "pop %rdi\n\t"
            "jmp *%rax");
}
