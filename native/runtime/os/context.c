#include "os/context.h"

#include <signal.h>
#include <string.h>

#include "base/attributes.h"
#include "os/syscall.h"
#include "os/world.h"

// The context that the thread is on its way to.
static LL_THREAD_LOCAL ucontext_t* leaving_for;

// Places in the code below. Until `switched` the way back can be begun anew from the
// context; after it the context's memory may be reused, but all registers are in place
// and rcx holds the address to go to.
extern const char ll_context_leave_begin[] __attribute__((visibility("hidden")));
extern const char ll_context_leave_switched[] __attribute__((visibility("hidden")));
extern const char ll_context_leave_end[] __attribute__((visibility("hidden")));

// Offsets: 8 times the REG_ numbers of <ucontext.h>. 219 is restart_syscall.
__attribute__((naked, noreturn)) static void
leave(__attribute__((unused)) const greg_t* registers,
      __attribute__((unused)) const uint64_t* mask,
      __attribute__((unused)) const void* vector_image,
      __attribute__((unused)) uint64_t vector_features) {
    __asm__(".globl ll_context_leave_begin, ll_context_leave_switched, "
            "ll_context_leave_end\n\t"
            ".hidden ll_context_leave_begin, ll_context_leave_switched, "
            "ll_context_leave_end\n\t"
            "mov %rdi, %rbx\n\t"
            "mov %rdx, %r8\n\t"
            "mov %rcx, %rax\n\t"
            "mov %rcx, %rdx\n\t"
            "shr $32, %rdx\n\t"
            "test %rcx, %rcx\n\t"
            "jz 1f\n\t"
            "xrstor64 (%r8)\n\t"
            "jmp 2f\n\t"
            "1: fxrstor64 (%r8)\n\t"
            "2:\n"
            "ll_context_leave_begin:\n\t"
            "mov $14, %eax\n\t" // rt_sigprocmask(SIG_SETMASK, mask, NULL, 8)
            "mov $2, %edi\n\t"
            "xor %edx, %edx\n\t"
            "mov $8, %r10d\n\t"
            "syscall\n\t"
            "mov %rbx, %r11\n\t"
            "mov 128(%r11), %rcx\n\t"
            "sub $2, %rcx\n\t"
            "pushq 136(%r11)\n\t"
            "popfq\n\t"
            "mov 0(%r11), %r8\n\t"
            "mov 8(%r11), %r9\n\t"
            "mov 16(%r11), %r10\n\t"
            "mov 32(%r11), %r12\n\t"
            "mov 40(%r11), %r13\n\t"
            "mov 48(%r11), %r14\n\t"
            "mov 56(%r11), %r15\n\t"
            "mov 64(%r11), %rdi\n\t"
            "mov 72(%r11), %rsi\n\t"
            "mov 80(%r11), %rbp\n\t"
            "mov 88(%r11), %rbx\n\t"
            "mov 96(%r11), %rdx\n\t"
            "mov 120(%r11), %rsp\n"
            "ll_context_leave_switched:\n\t"
            "mov $219, %eax\n\t"
            "jmp *%rcx\n"
            "ll_context_leave_end:");
}

// Non-zero when the processor keeps a shadow stack for this thread; without that
// feature the instruction does nothing.
static uint64_t shadow_stack(void) {
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer;
}

bool ll_context_can_leave(const ucontext_t* context) {
    const unsigned autodisarm = 1U << 31;
    return context->uc_mcontext.fpregs != NULL && shadow_stack() == 0 &&
           ((unsigned)context->uc_stack.ss_flags & autodisarm) == 0;
}

_Noreturn void ll_context_continue_call(ucontext_t* context) {
    enum { FEATURES_OFFSET = 472, LEGACY_SIZE = 512 };
    size_t image_size;
    uint64_t features = 0;
    const char* image = ll_vector_registers(context, &image_size);
    if (image_size > LEGACY_SIZE) {
        memcpy(&features, image + FEATURES_OFFSET, sizeof features);
    }
    leaving_for = context;
    leave(context->uc_mcontext.gregs, (const uint64_t*)&context->uc_sigmask, image,
          features);
}

ucontext_t* ll_context_left_for(ucontext_t* context) {
    greg_t* registers = context->uc_mcontext.gregs;
    const char* pc = (const char*)registers[REG_RIP];
    if (pc < ll_context_leave_begin || pc >= ll_context_leave_end) {
        return NULL;
    }
    if (pc < ll_context_leave_switched) {
        return leaving_for;
    }
    registers[REG_RIP] = registers[REG_RCX] + 2;
    return context;
}
