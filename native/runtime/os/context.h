// Leaves a signal handler without the kernel's help. rt_sigreturn forgets how long an
// interrupted sleep still had to last; by jumping back ourselves we can let the kernel
// go on with it (restart_syscall).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

// False where only the kernel can leave the handler: with a shadow stack, or with an
// alternate stack that is disarmed while the handler runs.
bool ll_context_can_leave(const ucontext_t* context);

// Goes back to the system call instruction before the interrupted one and makes the
// kernel continue the call there.
_Noreturn void ll_context_continue_call(ucontext_t* context);

// When the stop signal arrives while a thread is on its way out of such a handler:
// the context that it was leaving, with the same meaning as on the first attempt. NULL
// when `context` is no such place.
ucontext_t* ll_context_left_for(ucontext_t* context);
