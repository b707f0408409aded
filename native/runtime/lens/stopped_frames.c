#include "lens/stopped_frames.h"

#include <string.h>

#include "format/records.h"
#include "os/memory.h"
#include "stack/stack.h"

// Deeper stacks are rare; what lies further out is left to the search of mappings.
enum { DEPTH_MAX = 4096 };

static bool make_room(struct ll_stopped_frames* frames) {
    if (frames->count < frames->capacity) {
        return true;
    }
    size_t capacity = frames->capacity == 0 ? 512 : frames->capacity * 2;
    struct ll_stack_frame* list = ll_memory_map(capacity * sizeof *list);
    if (list == NULL) {
        return false;
    }
    size_t count = frames->count;
    if (count > 0) {
        memcpy(list, frames->list, count * sizeof *list);
    }
    ll_stopped_frames_release(frames);
    *frames = (struct ll_stopped_frames){list, count, capacity};
    return true;
}

uintptr_t ll_stopped_frames_walk(struct ll_stopped_frames* frames,
                                 const struct ll_walk_start* start,
                                 ll_saved_registers* saved, void* context) {
    struct ll_registers registers = start->registers;
    uintptr_t end = registers.general[LL_RSP];
    uintptr_t cfa = start->after_call ? end : 0;
    size_t first = frames->count;
    while (frames->count - first < DEPTH_MAX && make_room(frames)) {
        struct ll_stack_frame frame = {
            .start = registers.general[LL_RSP],
            .pc = registers.pc,
            .flags = cfa == 0 ? LL_NODE_exact_pc : 0,
        };
        bool stepped = ll_unwind_step(&registers, &cfa);
        // A CFA of 0: below lies a signal handler, whose frames may be elsewhere.
        if (!stepped || cfa <= frame.start) {
            break;
        }
        frame.cfa = cfa;
        end = cfa;
        saved(&registers, context);
        frames->list[frames->count++] = frame;
        frames->list[frames->count - 1].caller = (uint32_t)frames->count + 1;
    }
    if (frames->count > first) {
        frames->list[frames->count - 1].caller = 0;
    }
    return end;
}

uint32_t ll_stopped_frames_node(struct ll_stopped_frames* frames, size_t index) {
    // Follows the callers out to the first with a node, then comes back: callers lie
    // one behind the other in the list.
    size_t outer = index;
    while (frames->list[outer].node == 0 && frames->list[outer].caller != 0) {
        outer = frames->list[outer].caller - 1;
    }
    for (size_t i = outer;; i--) {
        struct ll_stack_frame* frame = &frames->list[i];
        if (frame->node == 0) {
            uint32_t parent =
                frame->caller == 0 ? 0 : frames->list[frame->caller - 1].node;
            frame->node = ll_stack_child(parent, frame->pc, frame->flags);
        }
        if (i == index) {
            return frame->node;
        }
    }
}

void ll_stopped_frames_release(struct ll_stopped_frames* frames) {
    if (frames->list != NULL) {
        ll_memory_unmap(frames->list, frames->capacity * sizeof *frames->list);
    }
    memset(frames, 0, sizeof *frames);
}
