// Ends that run no exit handlers. abort() needs nothing here: it raises SIGABRT.
#include <unistd.h>

#include "base/attributes.h"
#include "entry/last_look.h"
#include "format/records.h"
#include "os/syscall.h"

LL_EXPORT _Noreturn void _exit(int status) {
    struct ll_occasion here =
        LL_OCCASION_HERE(LL_TRIGGER_quick_exit, (uint32_t)status & 0xff);
    ll_last_look(&here);
    for (;;) {
        ll_syscall(SYS_exit_group, status);
    }
}

LL_EXPORT _Noreturn void _Exit(int status);

_Noreturn void _Exit(int status) {
    _exit(status);
}
