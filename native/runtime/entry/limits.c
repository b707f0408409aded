// A program that limits its address space would have no room left: the shadow of the
// loss stamps takes half a TiB of it. Lens `loss` then ends for this process.
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "entry/patching.h"
#include "os/syscall.h"

static int set(pid_t process, unsigned resource, const struct rlimit64* wanted,
               struct rlimit64* old) {
    bool is_self = process == 0 || process == (pid_t)ll_syscall(SYS_getpid);
    if (wanted != NULL && resource == RLIMIT_AS && is_self &&
        wanted->rlim_cur != RLIM64_INFINITY) {
        ll_patching_end();
    }
    long result = ll_syscall(SYS_prlimit64, process, resource, wanted, old);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return 0;
}

// On x86-64 both sizes of limits are the same.
LL_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit* wanted) {
    return set(0, resource, (const struct rlimit64*)wanted, NULL);
}

LL_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64* wanted) {
    return set(0, resource, wanted, NULL);
}

LL_EXPORT int prlimit(pid_t process, __rlimit_resource_t resource,
                      const struct rlimit* wanted, struct rlimit* old) {
    return set(process, resource, (const struct rlimit64*)wanted,
               (struct rlimit64*)old);
}

LL_EXPORT int prlimit64(pid_t process, __rlimit_resource_t resource,
                        const struct rlimit64* wanted, struct rlimit64* old) {
    return set(process, resource, wanted, old);
}
