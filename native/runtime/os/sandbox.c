#include "os/sandbox.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

// Every system call between the beginning of a look and its end, those by which threads
// and fatal signals are handled, and those that arm code when it is entered.
static const uint16_t needed[] = {
    SYS_openat,
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_readlinkat,
    SYS_readlink,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_mincore,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_geteuid,
    SYS_getdents64,
    SYS_futex,
    SYS_fcntl,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigpending,
    SYS_prlimit64,
    SYS_clock_gettime,
    SYS_arch_prctl,
    SYS_nanosleep,
    SYS_rt_tgsigqueueinfo,
    SYS_tgkill,
    SYS_process_vm_readv,
    SYS_clone,
    SYS_close_range,
    SYS_setitimer,
    SYS_wait4,
    SYS_exit_group,
    SYS_ioctl,
    SYS_sched_getaffinity,
};

// The accumulator, the index register and the scratch words of the filter's machine.
struct machine {
    uint32_t a;
    uint32_t x;
    uint32_t scratch[BPF_MEMWORDS];
};

static uint32_t load_word(uint32_t number, uint32_t offset) {
    switch (offset) {
    case offsetof(struct seccomp_data, nr):
        return number;
    case offsetof(struct seccomp_data, arch):
        return AUDIT_ARCH_X86_64;
    default:
        return 0;
    }
}

static uint32_t calculate(uint16_t code, uint32_t a, uint32_t operand) {
    switch (BPF_OP(code)) {
    case BPF_ADD:
        return a + operand;
    case BPF_SUB:
        return a - operand;
    case BPF_MUL:
        return a * operand;
    case BPF_DIV:
        return operand == 0 ? 0 : a / operand;
    case BPF_AND:
        return a & operand;
    case BPF_OR:
        return a | operand;
    case BPF_XOR:
        return a ^ operand;
    case BPF_LSH:
        return operand > 31 ? 0 : a << operand;
    case BPF_RSH:
        return operand > 31 ? 0 : a >> operand;
    default:
        return -a;
    }
}

static bool compare(uint16_t code, uint32_t a, uint32_t operand) {
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == operand;
    case BPF_JGT:
        return a > operand;
    case BPF_JGE:
        return a >= operand;
    default:
        return (a & operand) != 0;
    }
}

static uint32_t loaded(const struct machine* machine, uint32_t number,
                       const struct sock_filter* step) {
    switch (BPF_MODE(step->code)) {
    case BPF_ABS:
        return load_word(number, step->k);
    case BPF_MEM:
        return machine->scratch[step->k % BPF_MEMWORDS];
    case BPF_LEN:
        return sizeof(struct seccomp_data);
    default:
        return step->k;
    }
}

// How far to jump, behind the step itself.
static uint32_t jump(const struct machine* machine, const struct sock_filter* step) {
    if (BPF_OP(step->code) == BPF_JA) {
        return step->k;
    }
    uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine->x : step->k;
    return compare(step->code, machine->a, operand) ? step->jt : step->jf;
}

static void execute(struct machine* machine, uint32_t number,
                    const struct sock_filter* step) {
    uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine->x : step->k;
    switch (BPF_CLASS(step->code)) {
    case BPF_LD:
        machine->a = loaded(machine, number, step);
        break;
    case BPF_LDX:
        machine->x = loaded(machine, number, step);
        break;
    case BPF_ST:
        machine->scratch[step->k % BPF_MEMWORDS] = machine->a;
        break;
    case BPF_STX:
        machine->scratch[step->k % BPF_MEMWORDS] = machine->x;
        break;
    case BPF_ALU:
        machine->a = calculate(step->code, machine->a, operand);
        break;
    default:
        if (BPF_MISCOP(step->code) == BPF_TAX) {
            machine->x = machine->a;
        } else {
            machine->a = machine->x;
        }
        break;
    }
}

// What the filter answers to a system call; SECCOMP_RET_KILL_PROCESS if it has no end.
static uint32_t verdict(const struct sock_fprog* filter, uint32_t number) {
    struct machine machine = {0};
    for (uint32_t at = 0; at < filter->len; at++) {
        const struct sock_filter* step = &filter->filter[at];
        if (BPF_CLASS(step->code) == BPF_RET) {
            return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
        }
        if (BPF_CLASS(step->code) == BPF_JMP) {
            at += jump(&machine, step);
        } else {
            execute(&machine, number, step);
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static bool is_fatal(uint32_t answer) {
    switch (answer & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_KILL_PROCESS:
    case SECCOMP_RET_KILL_THREAD:
    case SECCOMP_RET_TRAP:
        return true;
    default:
        return false;
    }
}

bool ll_sandbox_permits_looks(const struct sock_fprog* filter) {
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (is_fatal(verdict(filter, needed[i]))) {
            return false;
        }
    }
    return true;
}
