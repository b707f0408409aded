// Filters as libseccomp writes them: which of them leave a look possible.
#include "os/sandbox.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "check.h"

#define LOAD(field)                                                                    \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, then, otherwise)                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define IF_ABOVE(value, then, otherwise)                                               \
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (value), (then), (otherwise))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define FILTER(...)                                                                    \
    ((struct sock_fprog){sizeof((struct sock_filter[]){__VA_ARGS__}) /                 \
                             sizeof(struct sock_filter),                               \
                         (struct sock_filter[]){__VA_ARGS__}})

static void a_filter_that_permits_all_is_no_harm(void) {
    struct sock_fprog filter = FILTER(ANSWER(SECCOMP_RET_ALLOW));
    CHECK(ll_sandbox_permits_looks(&filter));
}

static void calls_that_only_fail_are_no_harm(void) {
    struct sock_fprog filter = FILTER(ANSWER(SECCOMP_RET_ERRNO | 1));
    CHECK(ll_sandbox_permits_looks(&filter));
}

static void an_unrelated_fatal_call_is_no_harm(void) {
    struct sock_fprog filter =
        FILTER(LOAD(arch), IF_EQUAL(AUDIT_ARCH_X86_64, 0, 3), LOAD(nr),
               IF_EQUAL(SYS_ptrace, 1, 0), ANSWER(SECCOMP_RET_ALLOW),
               ANSWER(SECCOMP_RET_KILL_PROCESS));
    CHECK(ll_sandbox_permits_looks(&filter));
}

static void one_fatal_call_of_a_look_is_found(void) {
    struct sock_fprog filter =
        FILTER(LOAD(nr), IF_EQUAL(SYS_getdents64, 1, 0), ANSWER(SECCOMP_RET_ALLOW),
               ANSWER(SECCOMP_RET_TRAP));
    CHECK(!ll_sandbox_permits_looks(&filter));
}

static void a_short_list_is_fatal(void) {
    struct sock_fprog filter =
        FILTER(LOAD(nr), IF_ABOVE(SYS_write, 0, 1), ANSWER(SECCOMP_RET_KILL_THREAD),
               ANSWER(SECCOMP_RET_ALLOW));
    CHECK(!ll_sandbox_permits_looks(&filter));
}

static void another_architecture_is_not_ours(void) {
    struct sock_fprog filter =
        FILTER(LOAD(arch), IF_EQUAL(AUDIT_ARCH_I386, 0, 1),
               ANSWER(SECCOMP_RET_KILL_PROCESS), ANSWER(SECCOMP_RET_ALLOW));
    CHECK(ll_sandbox_permits_looks(&filter));
}

static void a_filter_without_an_end_is_fatal(void) {
    struct sock_fprog filter = FILTER(LOAD(nr));
    CHECK(!ll_sandbox_permits_looks(&filter));
}

int main(void) {
    a_filter_that_permits_all_is_no_harm();
    calls_that_only_fail_are_no_harm();
    an_unrelated_fatal_call_is_no_harm();
    one_fatal_call_of_a_look_is_found();
    a_short_list_is_fatal();
    another_architecture_is_not_ours();
    a_filter_without_an_end_is_fatal();
    return failures != 0;
}
