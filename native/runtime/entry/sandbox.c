// A process limits its own system calls (seccomp). If the filter would end it at a call
// that only we make, the heap is looked at one last time before, and from then on the
// runtime does no more than serve memory.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "base/attributes.h"
#include "entry/sandbox.h"
#include "entry/signals.h"
#include "format/records.h"
#include "lens/pages.h"
#include "os/sandbox.h"
#include "os/syscall.h"
#include "process/process.h"

// A filter of NULL only asks whether the kernel knows filters at all.
static void before_filter(const struct sock_fprog* filter) {
    if (filter != NULL) {
        ll_pages_sandboxed();
    }
    if (filter == NULL || !ll_process_is_watched() ||
        ll_sandbox_permits_looks(filter)) {
        return;
    }
    struct ll_occasion here = LL_OCCASION_HERE(LL_TRIGGER_program, LL_STATUS_UNKNOWN);
    ll_process_leave(&here, "the process limited its own system calls: what it lost "
                            "after that was not seen");
    ll_signals_end();
}

// The strict mode permits nothing that a look needs.
static void before_strict_mode(void) {
    static struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL);
    struct sock_fprog filter = {1, &refuse};
    before_filter(&filter);
}

static long finish(long result) {
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

long ll_sandbox_enter(unsigned operation, unsigned flags, void* argument) {
    if (operation == SECCOMP_SET_MODE_STRICT) {
        before_strict_mode();
    } else if (operation == SECCOMP_SET_MODE_FILTER) {
        before_filter(argument);
    }
    return finish(ll_syscall(SYS_seccomp, operation, flags, argument));
}

LL_EXPORT int prctl(int option, ...) {
    va_list list;
    unsigned long arguments[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++) {
        arguments[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (option == PR_SET_SECCOMP && arguments[0] == SECCOMP_MODE_STRICT) {
        before_strict_mode();
    } else if (option == PR_SET_SECCOMP && arguments[0] == SECCOMP_MODE_FILTER) {
        before_filter((const struct sock_fprog*)arguments[1]);
    }
    return (int)finish(ll_syscall(SYS_prctl, option, arguments[0], arguments[1],
                                  arguments[2], arguments[3]));
}
