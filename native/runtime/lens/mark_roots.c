#include "lens/mark_roots.h"

#include "format/records.h"
#include "lens/exit_frames.h"
#include "lens/holes.h"
#include "lens/mappings.h"
#include "os/maps.h"

// Functions may use so many bytes below the stack pointer (x86-64 ABI).
enum { RED_ZONE = 128 };

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static struct ll_registers registers_of_self(const struct ll_look* look);
static ll_root_visitor mark_region;
static void mark_registers(struct ll_marker* marker, const struct ll_registers* held,
                           const void* vector, size_t vector_size_bytes);
static void find_holes(struct ll_holes* holes, uintptr_t self_stack_pointer,
                       const struct ll_world* world);
static bool all_stopped(const struct ll_world* world);

struct ll_roots_seen ll_mark_roots(struct ll_marker* marker, const struct ll_look* look,
                                   const struct ll_world* world) {
    struct ll_roots_seen seen = {.complete = true};
    ll_roots_visit_regions(mark_region, marker);
    if (ll_roots_extent() == LL_ROOTS_REGISTERED) {
        return seen;
    }
    struct ll_registers self = registers_of_self(look);
    mark_registers(marker, &self, look->vector_registers, look->vector_size_bytes);
    for (size_t i = 0; i < world->count; i++) {
        const struct ll_stopped_thread* thread = &world->threads[i];
        mark_registers(marker, &thread->registers, thread->vector_registers,
                       thread->vector_size_bytes);
    }
    struct ll_holes holes = {0};
    find_holes(&holes, self.general[LL_RSP], world);
    struct ll_mappings mappings = {
        .marker = marker, .holes = &holes, .may_vanish = !all_stopped(world)};
    ll_mark_mappings(&mappings);
    ll_holes_release(&holes);
    seen.complete = mappings.listed;
    seen.unread_bytes = mappings.unread_bytes;
    return seen;
}

static struct ll_registers registers_of_self(const struct ll_look* look) {
    struct ll_registers caller;
    bool ending =
        look->trigger == LL_TRIGGER_exit || look->trigger == LL_TRIGGER_quick_exit;
    return ending && ll_exit_caller(&look->self, &caller) ? caller : look->self;
}

static void mark_region(const struct ll_root* root, void* context) {
    ll_mark_range(context, (const void*)root->start, (const void*)root->end);
}

static void mark_registers(struct ll_marker* marker, const struct ll_registers* held,
                           const void* vector, size_t vector_size_bytes) {
    ll_mark_range(marker, held->general, held->general + 16);
    if (vector != NULL) {
        ll_mark_range(marker, vector, (const char*)vector + vector_size_bytes);
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

// The part of a thread's stack that no frame uses, from the stack's start on.
struct unused {
    struct ll_holes* holes;
    uintptr_t stack_pointer;
};

static bool leave_out_main_stack(const struct ll_mapping* mapping, void* context) {
    struct unused* unused = context;
    if (unused->stack_pointer < mapping->start ||
        unused->stack_pointer >= mapping->end) {
        return true;
    }
    bool main_stack = mapping->name[0] == '[' && mapping->name[1] == 's';
    if (main_stack) {
        ll_holes_add(unused->holes,
                     (struct ll_hole){.start = mapping->start,
                                      .end = unused->stack_pointer - RED_ZONE});
    }
    return false;
}

// Of a stack nobody told us about only the main thread's is known to be nothing else.
static void leave_out_unused(struct ll_holes* holes, uintptr_t stack_pointer) {
    struct ll_root stack;
    if (ll_roots_stack_at(stack_pointer, &stack)) {
        ll_holes_add(holes, (struct ll_hole){.start = stack.start,
                                             .end = stack_pointer - RED_ZONE});
    } else {
        struct unused unused = {holes, stack_pointer};
        ll_maps_visit(leave_out_main_stack, &unused);
    }
}

struct thread_list {
    struct ll_holes* holes;
    uintptr_t self_stack_pointer;
    const struct ll_world* world;
};

// A thread says that it ends before its last frames are gone.
static bool is_in_use(const struct ll_root* stack, const struct thread_list* threads) {
    bool by_self = threads->self_stack_pointer >= stack->start &&
                   threads->self_stack_pointer < stack->end;
    for (size_t i = 0; i < threads->world->count && !by_self; i++) {
        uintptr_t at = threads->world->threads[i].registers.general[LL_RSP];
        if (at >= stack->start && at < stack->end) {
            return true;
        }
    }
    return by_self;
}

static void leave_out_if_ended(const struct ll_root* stack, void* context) {
    const struct thread_list* threads = context;
    if (stack->ended && !is_in_use(stack, threads)) {
        // The thread control block may still hold the result that a join asks for.
        ll_holes_add(threads->holes, (struct ll_hole){.start = stack->start,
                                                      .end = stack->thread_pointer,
                                                      .needs_guard = true});
    }
}

static void find_holes(struct ll_holes* holes, uintptr_t self_stack_pointer,
                       const struct ll_world* world) {
    ll_holes_add(holes, (struct ll_hole){.start = (uintptr_t)__ehdr_start,
                                         .end = (uintptr_t)_end});
    leave_out_unused(holes, self_stack_pointer);
    for (size_t i = 0; i < world->count; i++) {
        if (world->threads[i].stopped) {
            leave_out_unused(holes, world->threads[i].registers.general[LL_RSP]);
        }
    }
    struct thread_list threads = {holes, self_stack_pointer, world};
    ll_roots_visit_stacks(leave_out_if_ended, &threads);
    ll_holes_sort(holes);
}
