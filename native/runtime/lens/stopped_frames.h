// The frames on the stacks of stopped threads, with the slots between each frame's
// lowest address and its CFA.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/world.h"

struct ll_stack_frame {
    uintptr_t start; // the stack pointer in this frame
    uintptr_t cfa;   // the caller's stack pointer, once this frame has returned
    uintptr_t pc;
    uint32_t caller; // place of the caller's frame in the list, plus 1; 0 if none
    uint32_t node;   // in the trie of stacks, 0 until asked for
    uint16_t flags;  // LL_NODE_*
};

struct ll_stopped_frames {
    struct ll_stack_frame* list; // NULL while empty
    size_t count;
    size_t capacity;
};

// Receives the callee-saved registers of each frame as its function left them when it
// made its call: they belong to the program although they lie in another frame.
typedef void ll_saved_registers(const struct ll_registers* registers, void* context);

// Where a walk starts.
struct ll_walk_start {
    struct ll_registers registers;
    // True when `pc` is a return address, false when it is the next instruction.
    bool after_call;
};

// Adds the frames of a thread, from `start` as far out as they can be unwound.
// Returns the address where the frames that were
// found end: the outermost CFA, or the stack pointer if there is none.
uintptr_t ll_stopped_frames_walk(struct ll_stopped_frames* frames,
                                 const struct ll_walk_start* start,
                                 ll_saved_registers* saved, void* context);

// The node of the frame's stack.
uint32_t ll_stopped_frames_node(struct ll_stopped_frames* frames, size_t index);

void ll_stopped_frames_release(struct ll_stopped_frames* frames);
