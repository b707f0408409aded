// seccomp(2), for which libc has no function of its own.
#pragma once

// What syscall(SYS_seccomp, ...) does. Called from assembly, which the optimiser at
// link time does not see.
__attribute__((used, externally_visible)) long
ll_sandbox_enter(unsigned operation, unsigned flags, void* argument);
