// Limits its own system calls to those that it needs, and loses a block before and
// after. Arguments: what happens at other calls, and how the filter is set.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "corpus.h"

CASE void lose_before_bad(void) {
    KEEP(malloc(911));
}

CASE void lose_after_ok(void) {
    KEEP(malloc(912));
}

static const int permitted[] = {
    SYS_write,          SYS_brk,   SYS_mmap,    SYS_munmap,     SYS_mprotect,
    SYS_rt_sigprocmask, SYS_futex, SYS_madvise, SYS_exit_group, SYS_newfstatat,
};

enum { COUNT = sizeof permitted / sizeof *permitted };

static int enter(unsigned refusal, const char* way) {
    struct sock_filter steps[COUNT + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (unsigned i = 0; i < COUNT; i++) {
        steps[i + 1] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)permitted[i], COUNT - i, 0);
    }
    steps[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusal);
    steps[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {COUNT + 3, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(way, "prctl") == 0) {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

int main(int count, char** arguments) {
    (void)count;
    unsigned refusal = strcmp(arguments[1], "kill") == 0   ? SECCOMP_RET_KILL_PROCESS
                       : strcmp(arguments[1], "trap") == 0 ? SECCOMP_RET_TRAP
                                                           : SECCOMP_RET_ERRNO | EPERM;
    lose_before_bad();
    scrub();
    printf("%d %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL), errno);
    printf("%ld %d\n", syscall(SYS_seccomp, 99, 0, NULL), errno);
    printf("%d\n", enter(refusal, arguments[2]));
    lose_after_ok();
    return 0;
}
