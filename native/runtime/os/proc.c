#include "os/proc.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "os/syscall.h"

enum { LOWEST_KEPT = 900 };

static struct {
    int folder;
    dev_t device;
    ino_t inode;
} kept = {.folder = -1};

// The program may have closed the descriptor and opened another file by its number.
int ll_proc_kept_descriptor(void) {
    struct stat status;
    if (kept.folder < 0 || ll_syscall(SYS_fstat, kept.folder, &status) != 0 ||
        status.st_dev != kept.device || status.st_ino != kept.inode) {
        return -1;
    }
    return kept.folder;
}

static long move_up(int folder) {
    long high = ll_syscall(SYS_fcntl, folder, F_DUPFD_CLOEXEC, LOWEST_KEPT);
    return high >= 0 ? high : ll_syscall(SYS_fcntl, folder, F_DUPFD_CLOEXEC, 0);
}

void ll_proc_keep_open(void) {
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    struct stat status;
    if (ll_proc_kept_descriptor() >= 0) {
        return;
    }
    long folder = ll_syscall(SYS_openat, AT_FDCWD, "/proc", flags, 0);
    if (folder < 0) {
        return;
    }
    if (ll_syscall(SYS_fstat, folder, &status) == 0) {
        kept.folder = (int)move_up((int)folder);
        kept.device = status.st_dev;
        kept.inode = status.st_ino;
    }
    ll_syscall(SYS_close, folder);
}
