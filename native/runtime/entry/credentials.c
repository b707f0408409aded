// Calls by which a privileged process loses the right or the path to open the recording
// again.
#include <sys/types.h>
#include <unistd.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "os/proc.h"
#include "os/syscall.h"
#include "process/process.h"

static void before_change(void) {
    if (ll_process_is_watched() && ll_syscall(SYS_geteuid) == 0) {
        ll_process_keep_recording_open();
    }
}

LL_EXPORT int setuid(uid_t user) {
    before_change();
    return ll_real()->setuid(user);
}

LL_EXPORT int seteuid(uid_t user) {
    before_change();
    return ll_real()->seteuid(user);
}

LL_EXPORT int setreuid(uid_t real, uid_t effective) {
    before_change();
    return ll_real()->setreuid(real, effective);
}

LL_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) {
    before_change();
    return ll_real()->setresuid(real, effective, saved);
}

LL_EXPORT int setgid(gid_t group) {
    before_change();
    return ll_real()->setgid(group);
}

LL_EXPORT int setegid(gid_t group) {
    before_change();
    return ll_real()->setegid(group);
}

LL_EXPORT int setregid(gid_t real, gid_t effective) {
    before_change();
    return ll_real()->setregid(real, effective);
}

LL_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) {
    before_change();
    return ll_real()->setresgid(real, effective, saved);
}

LL_EXPORT int chroot(const char* path) {
    before_change();
    if (ll_process_is_watched()) {
        ll_proc_keep_open();
    }
    return ll_real()->chroot(path);
}
