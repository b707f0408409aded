// The threads of this process as the kernel lists them under /proc/self/task.
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
