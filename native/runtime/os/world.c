#include "os/world.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "base/attributes.h"
#include "os/interrupted.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "os/tasks.h"

// libc's own name for sigaction, which entry/ does not replace.
int __sigaction(int signal, const struct sigaction* action, struct sigaction* old);

// Marks the signal's value as ours; the stop's number is in the low half.
#define STOP_MAGIC 0x4c4c5354ULL

// A thread that waits in the handler; lies on that thread's signal stack.
struct arrival {
    struct arrival* next;
    struct ll_stopped_thread thread;
};

// A thread that was sent the signal, as the stopper keeps account of it.
struct asked {
    int tid;
    bool settled; // stopped, gone, or given up
    bool gone;
};

struct table {
    void* start;
    size_t capacity;
};

static int stop_signal;
static ll_signal_handler* others_handler;

static uint32_t stops;           // number of the current or last stop, from 1
static _Atomic uint32_t closed;  // number of the stop that holds threads, 0 if none
static _Atomic uint32_t arrived; // threads that wait in the handler
static _Atomic(struct arrival*) arrivals;

static struct table asked_table;
static size_t asked_count;
static bool asked_complete; // no thread was left out for want of memory
static struct table stopped_table;

static void futex_wait(_Atomic uint32_t* word, uint32_t value,
                       const struct timespec* patience) {
    ll_syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, patience);
}

static void futex_wake(_Atomic uint32_t* word) {
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

static void push(struct arrival* arrival) {
    struct arrival* head = atomic_load_explicit(&arrivals, memory_order_relaxed);
    do {
        arrival->next = head;
    } while (!atomic_compare_exchange_weak_explicit(
        &arrivals, &head, arrival, memory_order_release, memory_order_relaxed));
}

// Registers this thread as stopped and waits until the world goes on.
static void wait_stopped(uint32_t stop, void* context) {
    struct arrival arrival = {.thread.stopped = true};
    arrival.thread.tid = (int)ll_syscall(SYS_gettid);
    arrival.thread.thread_pointer = thread_pointer();
    ll_registers_interrupted(context, &arrival.thread.registers);
    arrival.thread.vector_registers =
        ll_vector_registers(context, &arrival.thread.vector_size_bytes);
    push(&arrival);
    atomic_fetch_add(&arrived, 1);
    futex_wake(&arrived);
    while (atomic_load(&closed) == stop) {
        futex_wait(&closed, stop, NULL);
    }
}

static void on_signal(int signal, siginfo_t* information, void* context) {
    uint64_t value = (uint64_t)information->si_value.sival_ptr;
    if (information->si_code == SI_QUEUE && value >> 32 == STOP_MAGIC &&
        information->si_pid == (pid_t)ll_syscall(SYS_getpid)) {
        uint32_t stop = (uint32_t)value;
        if (atomic_load(&closed) == stop) {
            wait_stopped(stop, context);
        }
    } else {
        others_handler(signal, information, context);
    }
    ll_interrupted_restart(context);
}

bool ll_world_start(int signal, ll_signal_handler* others) {
    struct sigaction action = {0};
    stop_signal = signal;
    others_handler = others;
    action.sa_sigaction = on_signal;
    // On the alternate stack where a thread has one: its own may be tiny.
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    return __sigaction(signal, &action, NULL) == 0;
}

bool ll_world_owns_signal(int signal) {
    return signal == stop_signal && stop_signal != 0;
}

// Makes room for `count` elements and keeps the first `kept`. False without memory.
static bool make_room(struct table* table, size_t count, size_t kept, size_t element) {
    if (count <= table->capacity) {
        return true;
    }
    size_t capacity =
        (count * 2 * element + LL_PAGE_SIZE) / LL_PAGE_SIZE * LL_PAGE_SIZE / element;
    void* start = ll_memory_map((capacity * element + LL_PAGE_SIZE - 1) / LL_PAGE_SIZE *
                                LL_PAGE_SIZE);
    if (start == NULL) {
        return false;
    }
    if (table->start != NULL) {
        memcpy(start, table->start, kept * element);
        ll_memory_unmap(table->start, (table->capacity * element + LL_PAGE_SIZE - 1) /
                                          LL_PAGE_SIZE * LL_PAGE_SIZE);
    }
    table->start = start;
    table->capacity = capacity;
    return true;
}

static struct asked* asked_threads(void) {
    return asked_table.start;
}

static bool is_asked(int tid) {
    for (size_t i = 0; i < asked_count; i++) {
        if (asked_threads()[i].tid == tid) {
            return true;
        }
    }
    return false;
}

static bool send_stop(int tid) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    information.si_code = SI_QUEUE;
    information.si_pid = (pid_t)ll_syscall(SYS_getpid);
    information.si_value.sival_ptr = (void*)(STOP_MAGIC << 32 | stops);
    return ll_syscall(SYS_rt_tgsigqueueinfo, information.si_pid, tid, stop_signal,
                      &information) == 0;
}

static bool ask_task(int tid, void* context) {
    int self = *(int*)context;
    if (tid == self || is_asked(tid)) {
        return true;
    }
    if (!make_room(&asked_table, asked_count + 1, asked_count, sizeof(struct asked))) {
        asked_complete = false;
        return false;
    }
    bool sent = send_stop(tid);
    asked_threads()[asked_count++] =
        (struct asked){.tid = tid, .settled = !sent, .gone = !sent};
    return true;
}

static bool has_arrived(int tid) {
    for (const struct arrival* at = atomic_load(&arrivals); at != NULL; at = at->next) {
        if (at->thread.tid == tid) {
            return true;
        }
    }
    return false;
}

// Decides about a thread that has not come yet after `waited_ms`.
static void judge(struct asked* asked, unsigned waited_ms) {
    // A new thread blocks all signals for an instant; others for good.
    enum { BLOCKED_PATIENCE_MS = 30, ASLEEP_PATIENCE_MS = 200, PATIENCE_MS = 10000 };
    struct ll_task task = ll_task_inspect(asked->tid);
    bool blocks = (task.blocked >> (stop_signal - 1) & 1) != 0;
    asked->gone = task.state == 0 || task.state == 'Z' || task.state == 'X';
    asked->settled = asked->gone || task.state == 'T' || task.state == 't' ||
                     (blocks && waited_ms >= BLOCKED_PATIENCE_MS) ||
                     (task.state == 'D' && waited_ms >= ASLEEP_PATIENCE_MS) ||
                     waited_ms >= PATIENCE_MS;
}

static size_t unsettled(unsigned waited_ms) {
    size_t count = 0;
    for (size_t i = 0; i < asked_count; i++) {
        struct asked* asked = &asked_threads()[i];
        if (!asked->settled) {
            asked->settled = has_arrived(asked->tid);
        }
        if (!asked->settled && waited_ms > 0) {
            judge(asked, waited_ms);
        }
        count += !asked->settled;
    }
    return count;
}

// Waits until every asked thread has come, is gone or was given up.
static void settle(void) {
    unsigned waited_ms = 0;
    unsigned pause_ms = 1;
    for (;;) {
        uint32_t seen = atomic_load(&arrived);
        if (seen >= asked_count || unsettled(waited_ms) == 0) {
            return;
        }
        struct timespec pause = {0, pause_ms * 1000000L};
        futex_wait(&arrived, seen, &pause);
        if (atomic_load(&arrived) == seen) {
            waited_ms += pause_ms;
            pause_ms = pause_ms < 32 ? pause_ms * 2 : 32;
        }
    }
}

static struct ll_stopped_thread thread_not_stopped(int tid) {
    struct ll_stopped_thread thread = {.tid = tid};
    thread.registers.general[LL_RSP] = ll_task_inspect(tid).stack_pointer;
    return thread;
}

static bool collect(struct ll_world* world) {
    if (!make_room(&stopped_table, asked_count, 0, sizeof(struct ll_stopped_thread))) {
        return false;
    }
    world->threads = stopped_table.start;
    world->count = 0;
    for (const struct arrival* at = atomic_load(&arrivals); at != NULL; at = at->next) {
        world->threads[world->count++] = at->thread;
    }
    for (size_t i = 0; i < asked_count; i++) {
        const struct asked* asked = &asked_threads()[i];
        if (!asked->gone && !has_arrived(asked->tid)) {
            world->threads[world->count++] = thread_not_stopped(asked->tid);
        }
    }
    return true;
}

bool ll_world_stop(struct ll_world* world) {
    int self = (int)ll_syscall(SYS_gettid);
    size_t known;
    stops = stops == UINT32_MAX ? 1 : stops + 1;
    asked_count = 0;
    asked_complete = true;
    atomic_store(&arrivals, NULL);
    atomic_store(&arrived, 0);
    atomic_store(&closed, stops);
    // A thread may be born while others are asked; its parent is stopped after that, so
    // a pass that finds nothing new is the last.
    do {
        known = asked_count;
        if (!ll_tasks_visit(ask_task, &self)) {
            asked_complete = false;
        }
        settle();
    } while (asked_complete && asked_count > known);
    if (!asked_complete || !collect(world)) {
        ll_world_resume(world);
        return false;
    }
    return true;
}

void ll_world_resume(struct ll_world* world) {
    world->count = 0;
    atomic_store(&closed, 0);
    futex_wake(&closed);
}
