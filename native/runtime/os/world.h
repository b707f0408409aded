// Stops all other threads of the process by a signal, keeps their registers, and lets
// them go on. No ptrace, since containers forbid it.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a thread's registers held when it stopped. `general` is in the order of DWARF
// register numbers: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15.
struct ll_registers {
    uint64_t general[16];
    uint64_t pc;
};

enum { LL_RAX, LL_RDX, LL_RCX, LL_RBX, LL_RSI, LL_RDI, LL_RBP, LL_RSP };

struct ll_stopped_thread {
    int tid;
    bool stopped; // false: it blocks the signal; only `general[LL_RSP]` may be known
    uintptr_t thread_pointer; // its TCB, 0 when unknown
    struct ll_registers registers;
    const void* vector_registers; // fxsave/xsave image on its stack, or NULL
    size_t vector_size_bytes;
};

struct ll_world {
    struct ll_stopped_thread* threads; // all but the calling one
    size_t count;
};

// Takes the stop signal when it is not the world's: a request from outside, or the
// program's own use of the same signal number. Runs in the signal handler.
typedef void ll_signal_handler(int signal, siginfo_t* information, void* context);

// Asks a process, from the outside, by its stop signal and a value.
bool ll_world_ask(int pid, uint64_t value);

// The same for one thread of it.
bool ll_world_ask_thread(int pid, int tid, uint64_t value);

// Installs the handler for the stop signal. Called once at start.
bool ll_world_start(int stop_signal, ll_signal_handler* others);

// Stops every other thread, also those being created meanwhile. Returns false when it
// could not list them; nothing is stopped then. Not reentrant: callers hold the look
// lock and have all signals blocked.
bool ll_world_stop(struct ll_world* world);

// Lets the threads go on; system calls that the signal interrupted are restarted, so
// the program never sees an EINTR because of us.
void ll_world_resume(struct ll_world* world);

// True when every thread stopped, and none merely could not be reached.
bool ll_world_is_still(const struct ll_world* world);

// True when the signal is the one that stops threads and asks for snapshots.
bool ll_world_owns_signal(int signal);

// That signal, 0 before ll_world_start.
int ll_world_signal(void);

// The registers that a signal handler's context holds.
void ll_registers_interrupted(const void* context, struct ll_registers* registers);

// The vector registers in a signal handler's context: an fxsave or xsave image.
const void* ll_vector_registers(const void* context, size_t* size_bytes);
