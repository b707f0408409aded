#include "lens/mark_roots.h"

#include "format/records.h"
#include "lens/exit_frames.h"
#include "lens/holes.h"
#include "lens/mappings.h"

// Functions may use so many bytes below the stack pointer (x86-64 ABI).
enum { RED_ZONE = 128 };

// First and last address of the library that this code is part of.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

struct roots {
    struct ll_marker* marker;
    struct ll_walk_start self;
    const struct ll_look* look;
    const struct ll_world* world;
    struct ll_stopped_frames* frames; // NULL when they are not wanted
    struct ll_holes holes;
};

static ll_root_visitor mark_region;
static struct ll_walk_start start_of_self(const struct ll_look* look);
static void mark_threads(struct roots* roots);
static ll_root_visitor leave_out_if_ended;
static bool all_stopped(const struct ll_world* world);

struct ll_roots_seen ll_mark_roots(struct ll_marker* marker, const struct ll_look* look,
                                   const struct ll_world* world,
                                   struct ll_stopped_frames* frames) {
    struct ll_roots_seen seen = {.complete = true};
    ll_roots_visit_regions(mark_region, marker);
    if (ll_roots_extent() == LL_ROOTS_REGISTERED) {
        return seen;
    }
    struct roots roots = {.marker = marker,
                          .self = start_of_self(look),
                          .look = look,
                          .world = world,
                          .frames = frames};
    mark_threads(&roots);
    ll_roots_visit_stacks(leave_out_if_ended, &roots);
    ll_holes_add(&roots.holes, (struct ll_hole){.start = (uintptr_t)__ehdr_start,
                                                .end = (uintptr_t)_end});
    ll_holes_sort(&roots.holes);
    struct ll_mappings mappings = {
        .marker = marker, .holes = &roots.holes, .may_vanish = !all_stopped(world)};
    ll_mark_mappings(&mappings);
    ll_holes_release(&roots.holes);
    seen.complete = mappings.listed;
    seen.unread_bytes = mappings.unread_bytes;
    return seen;
}

static void mark_region(const struct ll_root* root, void* context) {
    ll_mark_range(context, (const void*)root->start, (const void*)root->end);
}

static struct ll_walk_start start_of_self(const struct ll_look* look) {
    struct ll_walk_start start;
    bool ending =
        look->trigger == LL_TRIGGER_exit || look->trigger == LL_TRIGGER_quick_exit;
    start.after_call = ending && ll_exit_caller(&look->self, &start.registers);
    if (!start.after_call) {
        start.registers = look->self;
    }
    return start;
}

static void mark_saved(const struct ll_registers* registers, void* marker) {
    ll_mark_range(marker, registers->general, registers->general + 16);
}

// Below the stack pointer nothing is a root. Of stacks that nobody told us about only
// the main thread's is known to be nothing else.
static struct ll_hole below_stack(uintptr_t stack_pointer, size_t red_zone) {
    struct ll_hole hole = {.end = stack_pointer - red_zone};
    struct ll_root stack;
    if (ll_roots_stack_at(stack_pointer, &stack)) {
        hole.start = stack.start;
    } else {
        hole.condition = LL_HOLE_IN_MAIN_STACK;
    }
    return hole;
}

// Frames are left out as far as they are known, for a closer look.
static void mark_thread(struct roots* roots, const struct ll_walk_start* start) {
    mark_saved(&start->registers, roots->marker);
    uintptr_t stack_pointer = start->registers.general[LL_RSP];
    // A call writes its return address there, and what it leaves below is stale.
    bool unused =
        start->after_call || (start == &roots->self && roots->look->no_red_zone);
    ll_holes_add(&roots->holes, below_stack(stack_pointer, unused ? 0 : RED_ZONE));
    if (roots->frames != NULL) {
        uintptr_t end =
            ll_stopped_frames_walk(roots->frames, start, mark_saved, roots->marker);
        ll_holes_add(&roots->holes,
                     (struct ll_hole){.start = stack_pointer, .end = end});
    }
}

static void mark_vector(struct ll_marker* marker, const void* registers, size_t size) {
    if (registers != NULL) {
        ll_mark_range(marker, registers, (const char*)registers + size);
    }
}

// The registers and the stack of a thread that runs on are unknown: all of its stack
// counts.
static void mark_threads(struct roots* roots) {
    mark_thread(roots, &roots->self);
    mark_vector(roots->marker, roots->look->vector_registers,
                roots->look->vector_size_bytes);
    for (size_t i = 0; i < roots->world->count; i++) {
        const struct ll_stopped_thread* thread = &roots->world->threads[i];
        if (thread->stopped) {
            struct ll_walk_start start = {.registers = thread->registers};
            mark_thread(roots, &start);
            mark_vector(roots->marker, thread->vector_registers,
                        thread->vector_size_bytes);
        }
    }
}

static bool is_on(const struct ll_registers* registers, const struct ll_root* stack) {
    uintptr_t stack_pointer = registers->general[LL_RSP];
    return stack_pointer >= stack->start && stack_pointer < stack->end;
}

// A thread says that it ends before its last frames are gone.
static bool is_in_use(const struct ll_root* stack, const struct roots* roots) {
    for (size_t i = 0; i < roots->world->count; i++) {
        if (is_on(&roots->world->threads[i].registers, stack)) {
            return true;
        }
    }
    return is_on(&roots->self.registers, stack);
}

static void leave_out_if_ended(const struct ll_root* stack, void* context) {
    struct roots* roots = context;
    if (stack->ended && !is_in_use(stack, roots)) {
        // The thread control block may still hold the result that a join asks for.
        ll_holes_add(&roots->holes,
                     (struct ll_hole){.start = stack->start,
                                      .end = stack->thread_pointer,
                                      .condition = LL_HOLE_BEHIND_GUARD});
    }
}

static bool all_stopped(const struct ll_world* world) {
    for (size_t i = 0; i < world->count; i++) {
        if (!world->threads[i].stopped) {
            return false;
        }
    }
    return true;
}
