// Page faults on shared memory by userfaultfd. Memory that is registered comes back
// page by page, and not with its neighbours. *Silent* faults are the kernel's own
// business. Faults that are *told* wait until somebody lets them go, also those of
// system calls; when the last descriptor is closed all of them go on by themselves.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_faults {
    int descriptor; // -1: none
    uint64_t mode;  // how memory is registered
};
#define LL_NO_FAULTS ((struct ll_faults){.descriptor = -1})

// False when the system refuses. Silent ones need no privilege. Telling them takes
// CAP_SYS_PTRACE or access to /dev/userfaultfd: without, system calls that touch such a
// page would fail.
bool ll_faults_open_silent(struct ll_faults* faults);
bool ll_faults_open_told(struct ll_faults* faults);
void ll_faults_close(struct ll_faults* faults);

bool ll_faults_register(const struct ll_faults* faults, uintptr_t start,
                        size_t size_bytes);

struct ll_fault {
    uintptr_t page;
    int tid;
};

// Waits for faults that are told: how many, at most `capacity`; below 0 when the
// descriptor is no more.
int ll_faults_await(const struct ll_faults* faults, struct ll_fault* told,
                    int capacity);

// Puts the page into the page table and wakes all who wait for it.
void ll_faults_let_go(const struct ll_faults* faults, uintptr_t page);
