// The threads of this process, or of one that it may look into, as the kernel lists
// them under /proc.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Calls `visit` with each thread id until it returns false. Returns false when the
// list could not be read.
typedef bool ll_tasks_visitor(int tid, void* context);
bool ll_tasks_visit(ll_tasks_visitor* visit, void* context);

struct ll_task {
    char state;              // as in /proc: R S D T t Z X; 0 when the thread has gone
    uint64_t blocked;        // signals it blocks: bit n-1 for signal n
    uintptr_t stack_pointer; // 0 unless it sleeps
};

// What the kernel says of one thread.
struct ll_task ll_task_inspect(int tid);

// Where a thread of a process sleeps.
struct ll_sleep {
    bool is_in_call; // in a system call; else in a page fault of its own code
    uintptr_t pc;
    uintptr_t stack_pointer;
};

// Whether the kernel tells that of a process at all.
bool ll_task_tells(int process);

// False when it runs, or has gone, or the kernel does not tell.
bool ll_task_sleep(int process, int tid, struct ll_sleep* sleep);

// Signals that a thread of a process blocks: bit n-1 for signal n; all when it has
// gone.
uint64_t ll_task_blocked(int process, int tid);
