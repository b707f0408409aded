// The frames of a stack as a look sees them: each slot lies in the frame of the
// function it belongs to, and each frame has a node below its caller's.
#include "lens/stopped_frames.h"

#include "check.h"
#include "format/records.h"
#include "process/process.h"
#include "stack/stack.h"

static struct ll_stopped_frames frames;
static uintptr_t walk_end;
static unsigned calls_saved;

// Addresses of a local variable of each function, innermost last.
static uintptr_t locals[3];

static void count_saved(const struct ll_registers* registers, void* context) {
    (void)context;
    calls_saved += registers->general[LL_RSP] != 0;
}

__attribute__((noipa)) static void innermost(void) {
    volatile uintptr_t local = 3;
    locals[2] = (uintptr_t)&local;
    struct ll_walk_start start = {.after_call = false};
    ll_registers_here(&start.registers);
    walk_end = ll_stopped_frames_walk(&frames, &start, count_saved, NULL);
}

__attribute__((noipa)) static void middle(void) {
    volatile uintptr_t local = 2;
    locals[1] = (uintptr_t)&local;
    innermost();
    local = 3;
}

__attribute__((noipa)) static void outer(void) {
    volatile uintptr_t local[50] = {1};
    locals[0] = (uintptr_t)&local[49];
    middle();
    local[0] = 2;
}

static size_t frame_of(uintptr_t address) {
    size_t i = 0;
    while (i < frames.count &&
           (address < frames.list[i].start || address >= frames.list[i].cfa)) {
        i++;
    }
    return i;
}

static void frames_follow_each_other(void) {
    CHECK(frames.count >= 4 && calls_saved == frames.count);
    for (size_t i = 0; i + 1 < frames.count; i++) {
        CHECK(frames.list[i].start < frames.list[i].cfa);
        CHECK(frames.list[i].cfa == frames.list[i + 1].start);
        CHECK(frames.list[i].caller == i + 2);
    }
    CHECK(frames.list[frames.count - 1].caller == 0);
    CHECK(walk_end == frames.list[frames.count - 1].cfa);
}

static void locals_lie_in_the_frames_of_their_functions(void) {
    size_t inner = frame_of(locals[2]);
    CHECK(inner < frames.count && frame_of(locals[1]) == inner + 1);
    CHECK(frame_of(locals[0]) == inner + 2);
    uintptr_t pc = frames.list[inner + 1].pc;
    CHECK(pc > (uintptr_t)middle && pc < (uintptr_t)middle + 200);
}

static void nodes_follow_the_callers(void) {
    size_t inner = frame_of(locals[2]);
    uint32_t node = ll_stopped_frames_node(&frames, inner);
    CHECK(node != 0 && ll_stopped_frames_node(&frames, inner) == node);
    for (size_t i = inner; i < frames.count; i++) {
        struct ll_node found;
        CHECK(ll_node_get(node, &found) && found.pc == frames.list[i].pc);
        node = found.parent;
    }
    CHECK(node == 0);
}

int main(void) {
    CHECK(ll_stack_start(64));
    outer();
    frames_follow_each_other();
    locals_lie_in_the_frames_of_their_functions();
    nodes_follow_the_callers();
    ll_stopped_frames_release(&frames);
    return failures != 0;
}
