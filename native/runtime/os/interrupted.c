#include "os/interrupted.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

#include "os/context.h"
#include "os/syscall.h"
#include "os/wait_time.h"

// Calls that end with EINTR after a signal handler although nothing else happened, and
// that may be made again with the same arguments.
static const uint16_t restartable[] = {
    SYS_read,          SYS_write,           SYS_poll,         SYS_select,
    SYS_pause,         SYS_nanosleep,       SYS_connect,      SYS_accept,
    SYS_sendto,        SYS_recvfrom,        SYS_sendmsg,      SYS_recvmsg,
    SYS_semop,         SYS_msgsnd,          SYS_msgrcv,       SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend, SYS_futex,           SYS_io_getevents, SYS_restart_syscall,
    SYS_semtimedop,    SYS_clock_nanosleep, SYS_epoll_wait,   SYS_pselect6,
    SYS_ppoll,         SYS_epoll_pwait,     SYS_accept4,      SYS_recvmmsg,
    SYS_sendmmsg,      SYS_readv,           SYS_writev,       SYS_io_uring_enter,
    SYS_epoll_pwait2,  SYS_futex_waitv,
};

enum { CODE_LENGTH = 16, SYSCALL_LENGTH = 2 };

static bool is_restartable(uint32_t number) {
    for (size_t i = 0; i < sizeof restartable / sizeof *restartable; i++) {
        if (restartable[i] == number) {
            return true;
        }
    }
    return false;
}

// Reads through the kernel, since code may lie at the very start of a mapping or be
// unreadable.
static bool read_code(uintptr_t address, uint8_t* code, size_t length) {
    struct iovec local = {code, length};
    struct iovec remote = {(void*)address, length};
    long pid = ll_syscall(SYS_getpid);
    return ll_syscall(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0) ==
           (long)length;
}

static bool is_syscall(const uint8_t* code) {
    return code[0] == 0x0f && code[1] == 0x05;
}

// The number of the system call whose instruction ends the `code`: the kernel does not
// tell a handler, but the code loads it into eax just before (mov $number, %eax), and
// our syscall() leaves it below the stack pointer (mov %rax, -8(%rsp)). -1 when it is
// not to be seen.
static long call_number(const uint8_t code[CODE_LENGTH], uintptr_t stack_pointer) {
    static const uint8_t keeps_number[] = {0x48, 0x89, 0x44, 0x24, 0xf8, 0x0f, 0x05};
    if (memcmp(code + CODE_LENGTH - sizeof keeps_number, keeps_number,
               sizeof keeps_number) == 0) {
        uint64_t number = *(const uint64_t*)(stack_pointer - 8);
        return number <= UINT16_MAX && is_restartable((uint32_t)number) ? (long)number
                                                                        : -1;
    }
    for (int at = CODE_LENGTH - SYSCALL_LENGTH - 5; at >= 0; at--) {
        uint32_t number = (uint32_t)code[at + 1] | (uint32_t)code[at + 2] << 8 |
                          (uint32_t)code[at + 3] << 16 | (uint32_t)code[at + 4] << 24;
        if (code[at] == 0xb8 && is_restartable(number)) {
            return (long)number;
        }
    }
    return -1;
}

static bool is_ignored(int signal) {
    struct {
        void* handler;
        unsigned long flags;
        void* restorer;
        uint64_t mask;
    } action;
    if (ll_syscall(SYS_rt_sigaction, signal, NULL, &action, sizeof action.mask) != 0) {
        return true;
    }
    bool ignored_by_default = signal == SIGCHLD || signal == SIGURG ||
                              signal == SIGWINCH || signal == SIGCONT;
    return action.handler == (void*)SIG_IGN ||
           (action.handler == (void*)SIG_DFL && ignored_by_default);
}

// True when a signal waits that will run a handler of the program as soon as ours
// returns: the call is then interrupted for the program's own reason.
static bool program_signal_waits(int stop_signal, const ucontext_t* context) {
    uint64_t pending;
    uint64_t blocked = context->uc_sigmask.__val[0] | 1ULL << (stop_signal - 1);
    if (ll_syscall(SYS_rt_sigpending, &pending, sizeof pending) != 0) {
        return false;
    }
    for (uint64_t left = pending & ~blocked; left != 0; left &= left - 1) {
        if (!is_ignored(__builtin_ctzll(left) + 1)) {
            return true;
        }
    }
    return false;
}

// Sleeps of a given length that the kernel itself can continue: it remembers the rest.
static bool kernel_remembers(long number, const greg_t* arguments) {
    enum { FUTEX_OPERATION = 0x7f };
    switch (number) {
    case SYS_poll:
        return (int)arguments[REG_RDX] > 0;
    case SYS_nanosleep:
        return true;
    case SYS_clock_nanosleep:
        return ((int)arguments[REG_RSI] & TIMER_ABSTIME) == 0;
    case SYS_futex:
        return ((int)arguments[REG_RSI] & FUTEX_OPERATION) == FUTEX_WAIT &&
               arguments[REG_R10] != 0;
    default:
        return false;
    }
}

static int64_t now_ms(void) {
    struct timespec now = {0};
    ll_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void make_call_again(long number, ucontext_t* context) {
    greg_t* registers = context->uc_mcontext.gregs;
    if (kernel_remembers(number, registers) && ll_context_can_leave(context)) {
        ll_context_continue_call(context);
    }
    if (ll_wait_goes_on(number, registers, now_ms())) {
        registers[REG_RIP] -= SYSCALL_LENGTH;
        registers[REG_RAX] = number;
    }
}

// True when the thread had yet to execute the instruction by which a sleep goes on.
static bool is_about_to_continue(const greg_t* registers) {
    uint8_t code[SYSCALL_LENGTH];
    return registers[REG_RAX] == SYS_restart_syscall &&
           read_code((uintptr_t)registers[REG_RIP], code, sizeof code) &&
           is_syscall(code);
}

void ll_interrupted_restart(int stop_signal, void* signal_context) {
    ucontext_t* context = signal_context;
    greg_t* registers = context->uc_mcontext.gregs;
    ucontext_t* left_for = ll_context_left_for(context);
    if (left_for != NULL) {
        ll_context_continue_call(left_for);
    }
    if (is_about_to_continue(registers) && ll_context_can_leave(context)) {
        registers[REG_RIP] += SYSCALL_LENGTH;
        ll_context_continue_call(context);
    }
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    uint8_t code[CODE_LENGTH];
    if (registers[REG_RAX] != -EINTR ||
        !read_code(pc - CODE_LENGTH, code, CODE_LENGTH) ||
        !is_syscall(code + CODE_LENGTH - SYSCALL_LENGTH)) {
        return;
    }
    long number = call_number(code, (uintptr_t)registers[REG_RSP]);
    if (number >= 0 && !program_signal_waits(stop_signal, context)) {
        make_call_again(number, context);
    }
}
