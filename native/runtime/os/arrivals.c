// The handler's half of a stop: a thread that gets the signal leaves its registers and
// waits. Runs on threads that libc is still setting up, and may not return the usual
// way, so it is built without ThreadSanitizer.
#include "os/arrivals.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <ucontext.h>

#include "os/interrupted.h"
#include "os/syscall.h"

// libc's own name for sigaction, which entry/ does not replace.
int __sigaction(int signal, const struct sigaction* action, struct sigaction* old);

static int stop_signal;
static ll_signal_handler* others_handler;

_Atomic uint32_t ll_stop_closed;
_Atomic uint32_t ll_stop_arrived;
_Atomic(struct ll_arrival*) ll_stop_arrivals;

void ll_stop_wait(_Atomic uint32_t* word, uint32_t value,
                  const struct timespec* patience) {
    ll_syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, patience);
}

void ll_stop_wake(_Atomic uint32_t* word) {
    ll_syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void ll_registers_interrupted(const void* signal_context,
                              struct ll_registers* registers) {
    static const int order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t* context = signal_context;
    for (int i = 0; i < 16; i++) {
        registers->general[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    }
    registers->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

const void* ll_vector_registers(const void* signal_context, size_t* size_bytes) {
    // The kernel describes an xsave image in the 48 bytes that fxsave leaves free.
    enum { LEGACY_SIZE = 512, MAGIC_OFFSET = 464, SIZE_OFFSET = 468 };
    const uint32_t xsave_magic = 0x46505853U;
    const ucontext_t* context = signal_context;
    const char* image = (const char*)context->uc_mcontext.fpregs;
    uint32_t magic;
    uint32_t size;
    *size_bytes = 0;
    if (image == NULL) {
        return NULL;
    }
    memcpy(&magic, image + MAGIC_OFFSET, sizeof magic);
    memcpy(&size, image + SIZE_OFFSET, sizeof size);
    *size_bytes = magic == xsave_magic ? size : LEGACY_SIZE;
    return image;
}

static uintptr_t thread_pointer(void) {
    enum { GET_FS = 0x1003 };
    uintptr_t pointer = 0;
    ll_syscall(SYS_arch_prctl, GET_FS, &pointer);
    return pointer;
}

static void push(struct ll_arrival* arrival) {
    struct ll_arrival* head =
        atomic_load_explicit(&ll_stop_arrivals, memory_order_relaxed);
    do {
        arrival->next = head;
    } while (!atomic_compare_exchange_weak_explicit(
        &ll_stop_arrivals, &head, arrival, memory_order_release, memory_order_relaxed));
}

// Registers this thread as stopped and waits until the world goes on.
static void wait_stopped(uint32_t stop, void* context) {
    struct ll_arrival arrival = {.thread.stopped = true};
    arrival.thread.tid = (int)ll_syscall(SYS_gettid);
    arrival.thread.thread_pointer = thread_pointer();
    ll_registers_interrupted(context, &arrival.thread.registers);
    arrival.thread.vector_registers =
        ll_vector_registers(context, &arrival.thread.vector_size_bytes);
    push(&arrival);
    atomic_fetch_add(&ll_stop_arrived, 1);
    ll_stop_wake(&ll_stop_arrived);
    while (atomic_load(&ll_stop_closed) == stop) {
        ll_stop_wait(&ll_stop_closed, stop, NULL);
    }
}

static void on_signal(int signal, siginfo_t* information, void* context) {
    uint64_t value = (uint64_t)information->si_value.sival_ptr;
    if (information->si_code == SI_QUEUE && value >> 32 == LL_STOP_MAGIC &&
        information->si_pid == (pid_t)ll_syscall(SYS_getpid)) {
        uint32_t stop = (uint32_t)value;
        if (atomic_load(&ll_stop_closed) == stop) {
            wait_stopped(stop, context);
        }
    } else {
        others_handler(signal, information, context);
    }
    ll_interrupted_restart(signal, context);
}

bool ll_world_start(int signal, ll_signal_handler* others) {
    struct sigaction action = {0};
    others_handler = others;
    action.sa_sigaction = on_signal;
    // On the alternate stack where a thread has one: its own may be tiny.
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    if (__sigaction(signal, &action, NULL) != 0) {
        return false;
    }
    stop_signal = signal;
    return true;
}

bool ll_world_owns_signal(int signal) {
    return signal == stop_signal && stop_signal != 0;
}

int ll_world_signal(void) {
    return stop_signal;
}
