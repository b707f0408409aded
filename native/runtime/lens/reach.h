// Lens `reach`: what is lost now. Marks from the roots (registers, live stacks,
// globals, thread-local storage, other writable memory), then sorts every block that no
// root leads to into lost and indirectly lost, and groups all by allocation stack.
#pragma once
#include "lens/roots.h"
#include "os/world.h"

struct ll_look {
    uint32_t number;  // of the look: 1, 2 ... per process
    uint32_t trigger; // LL_TRIGGER_*
    uint32_t signal;  // the fatal signal, else 0
    uint32_t request; // number of the request from outside, else 0
    uint64_t cpu_ns;  // CPU time of the process until the look
    // The thread that looks, as it was when it entered the runtime.
    struct ll_registers self;
    bool no_red_zone;             // that thread uses nothing below its stack pointer
    const void* vector_registers; // of that thread, when a signal interrupted it
    size_t vector_size_bytes;
};

// Whether a root leads to the block at an address, in a stopped world; true in doubt.
// Leaves marks on blocks and writes nothing.
bool ll_reach_holds(const struct ll_look* look, const struct ll_world* world,
                    uintptr_t address);

// Marks, classifies and records one snapshot of a stopped world. Returns the number of
// lost blocks. Uses memory from the system only, about 1 % of the heap's size.
uint64_t ll_reach_look(const struct ll_look* look, const struct ll_world* world);

// True unless only lenses are asked for that do not need to know what is lost.
bool ll_reach_is_wanted(void);
