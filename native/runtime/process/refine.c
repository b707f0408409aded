#include "process/refine.h"

#include <string.h>
#include <ucontext.h>

#include "base/attributes.h"
#include "format/records.h"
#include "heap/inspect.h"
#include "lens/holders.h"
#include "lens/ordinals.h"
#include "lens/stopped_frames.h"
#include "os/lock.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "process/followed.h"
#include "process/life.h"
#include "process/process.h"
#include "process/traps.h"
#include "process/trigger.h"
#include "stack/stack.h"

// More marks of the whole heap than this for one block, or for all, would take too
// long.
enum { MARKS_MAX = 64, MARKS_OF_ALL = 2048 };
// Of a leak that recurs the next block is tried sooner: after so many marks, or points.
enum { MARKS_OF_RECURRING = 8, STEPS_OF_RECURRING = 4000 };
// Blocks of a leak that recurs: how many are watched at most, how many go by between
// two of them, and for how many more one is waited for that memory still holds.
enum { BLOCKS_MET_MAX = 1000, STRIDE_MAX = 8, PATIENCE = 4096 };

static struct ll_watch_list list;
static const uintptr_t* module_biases;
static struct ll_followed* watches; // one for each target
static uint32_t* left;              // by use: activations that have not returned yet
static bool is_on;
static bool is_expected;
static uint32_t marks_made;

// Held while breakpoints are set or taken away, with all signals blocked.
static struct ll_lock lock;

bool ll_refine_is_on(void) {
    return is_on || is_expected;
}

void ll_refine_expect(void) {
    is_expected = true;
}

static int thread_id(void) {
    return (int)ll_syscall(SYS_gettid);
}

// The node that call stacks of these frames will have: interned as walks do.
static uint32_t intern(uint32_t first, uint32_t count) {
    uint32_t node = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_watch_frame* frame = &list.frames[first + i];
        uintptr_t bias = module_biases[frame->module];
        if (bias == LL_TRAPS_NOT_LOADED) {
            return 0;
        }
        node = ll_stack_child(node, bias + frame->pc, (uint16_t)frame->flags);
    }
    return node;
}

static const struct ll_watch_target* target_of(const struct ll_followed* watch) {
    return &list.targets[watch - watches];
}

static bool waits_for(const struct ll_followed* watch, uint32_t trigger) {
    return watch->state == LL_REFINED_held && target_of(watch)->trigger == trigger;
}

static bool is_recurring(const struct ll_followed* watch) {
    return target_of(watch)->ordinal == LL_WATCH_ANY;
}

// The lock is held.
static void follow(struct ll_followed* watch, uintptr_t stack_pointer) {
    const struct ll_watch_target* target = target_of(watch);
    watch->steps_taken = 0;
    watch->thread = thread_id();
    watch->stack_pointer = stack_pointer;
    watch->is_followed = true;
    for (uint32_t i = 0; i < target->use_count; i++) {
        const struct ll_watch_use* use = &list.uses[target->first_use + i];
        left[target->first_use + i] = use->activations;
        ll_traps_set(use->function);
    }
}

static void follow_no_more(struct ll_followed* watch) {
    const struct ll_watch_target* target = target_of(watch);
    watch->is_followed = false;
    for (uint32_t i = 0; i < target->use_count; i++) {
        uint32_t use = target->first_use + i;
        if (left[use] > 0) {
            left[use] = 0;
            ll_traps_take(list.uses[use].function);
        }
    }
}

static void begin(struct ll_followed* watch, uintptr_t block) {
    struct ll_block found;
    if (!ll_block_at(block, &found)) {
        return;
    }
    uint64_t mask = ll_lock_take_masked(&lock);
    if (watch->state == LL_REFINED_not_met) {
        watch->state = LL_REFINED_held;
        watch->marks = 0;
        watch->waited = 0;
        watch->block = block;
        watch->end = block + ll_block_size(found);
        if (waits_for(watch, LL_WATCH_FROM_BIRTH)) {
            follow(watch, (uintptr_t)__builtin_frame_address(0));
        } else if (waits_for(watch, LL_WATCH_FROM_STORE)) {
            ll_traps_set_point(list.stores[target_of(watch)->store].point);
        }
    }
    ll_lock_drop_masked(&lock, mask);
}

// The loss in memory has come, or one that looked like it before: what matters is what
// becomes of the block from now on.
static void begin_behind_loss(struct ll_followed* watch, uintptr_t stack_pointer) {
    uint64_t mask = ll_lock_take_masked(&lock);
    if (watch->state == LL_REFINED_held) {
        if (watch->is_followed) {
            follow_no_more(watch);
        }
        follow(watch, stack_pointer);
    }
    ll_lock_drop_masked(&lock, mask);
}

// Fixed strides would meet the same turn of a loop each time.
static uint32_t random_below(uint32_t limit) {
    static uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % limit;
}

// A leak that recurs gives another chance when this block was not lost.
static uint32_t state_after(struct ll_followed* watch, uint32_t state) {
    bool is_another_wanted = state == LL_REFINED_freed || state == LL_REFINED_held;
    if (!is_recurring(watch) || !is_another_wanted) {
        return state;
    }
    watch->to_pass = random_below(STRIDE_MAX);
    return ++watch->blocks_met < BLOCKS_MET_MAX ? (uint32_t)LL_REFINED_not_met : state;
}

static void finish(struct ll_followed* watch, uint32_t state) {
    uint64_t mask = ll_lock_take_masked(&lock);
    if (watch->state == LL_REFINED_held) {
        if (watch->is_followed) {
            follow_no_more(watch);
        }
        if (waits_for(watch, LL_WATCH_FROM_STORE)) {
            ll_traps_take_point(list.stores[target_of(watch)->store].point);
        }
        watch->state = state_after(watch, state);
    }
    ll_lock_drop_masked(&lock, mask);
}

// Memory refers to the block after all: another loss will come.
static void wait_again(struct ll_followed* watch) {
    uint64_t mask = ll_lock_take_masked(&lock);
    if (watch->is_followed) {
        follow_no_more(watch);
    }
    ll_lock_drop_masked(&lock, mask);
}

// One block at a time: a program that is refined while it serves others must go on.
// Those that memory still holds cost nothing.
static bool is_next_to_watch(struct ll_followed* watch) {
    for (uint32_t i = 0; i < list.target_count; i++) {
        if (watches[i].state == LL_REFINED_held && watches[i].is_followed) {
            return false;
        }
    }
    if (watch->to_pass > 0) {
        watch->to_pass--;
        return false;
    }
    return true;
}

// A block that memory holds may stay there for ever: others of its kind get a turn.
static void wait_for_memory(struct ll_followed* watch) {
    if (is_recurring(watch) && watch->state == LL_REFINED_held && !watch->is_followed &&
        ++watch->waited >= PATIENCE) {
        finish(watch, LL_REFINED_held);
    }
}

static void on_birth(uintptr_t block, uint32_t site, uint32_t ordinal) {
    for (uint32_t i = 0; is_on && i < list.target_count; i++) {
        struct ll_followed* watch = &watches[i];
        if (watch->site != site) {
            continue;
        }
        wait_for_memory(watch);
        if (watch->state != LL_REFINED_not_met) {
            continue;
        }
        if (is_recurring(watch) ? is_next_to_watch(watch)
                                : list.targets[i].ordinal == ordinal) {
            begin(watch, block);
        }
    }
}

static void on_freed(uintptr_t block) {
    for (uint32_t i = 0; is_on && i < list.target_count; i++) {
        if (watches[i].state == LL_REFINED_held && watches[i].block == block) {
            finish(&watches[i], LL_REFINED_freed);
        }
    }
}

// A block that holds a reference to another is freed.
static void on_lost(uintptr_t pointer, uint32_t site) {
    for (uint32_t i = 0; is_on && i < list.target_count; i++) {
        struct ll_followed* watch = &watches[i];
        if (watch->trigger == site && waits_for(watch, LL_WATCH_FROM_FREE) &&
            pointer - watch->block <= watch->end - watch->block) {
            begin_behind_loss(watch, (uintptr_t)__builtin_frame_address(0));
        }
    }
}

bool ll_refine_start(const struct ll_watch_list* watch_list, const uintptr_t* biases,
                     enum ll_traps_code code) {
    list = *watch_list;
    module_biases = biases;
    size_t watch_bytes = (list.target_count + 1) * sizeof *watches;
    size_t left_bytes = (list.use_count + 1) * sizeof *left;
    watches = ll_memory_map((watch_bytes + LL_PAGE_SIZE) & -(size_t)LL_PAGE_SIZE);
    left = ll_memory_map((left_bytes + LL_PAGE_SIZE) & -(size_t)LL_PAGE_SIZE);
    if (watches == NULL || left == NULL || !ll_traps_start(&list, biases, code)) {
        return false;
    }
    for (uint32_t i = 0; i < list.target_count; i++) {
        watches[i].state = LL_REFINED_not_met;
        const struct ll_watch_target* target = &list.targets[i];
        watches[i].site = intern(target->first_frame, target->frame_count);
        watches[i].trigger =
            intern(target->first_trigger_frame, target->trigger_frame_count);
    }
    is_on = true;
    ll_ordinals_follow(on_birth, on_freed, on_lost);
    return true;
}

void ll_refine_give_up(void) {
    for (uint32_t i = 0; is_on && i < list.target_count; i++) {
        if (watches[i].state == LL_REFINED_held) {
            finish(&watches[i], LL_REFINED_given_up);
        }
    }
    is_on = false;
    is_expected = false;
}

// Registers that nobody will read again hold nothing.
static struct ll_registers live_registers(const struct ll_watch_point* point,
                                          struct ll_registers registers) {
    for (unsigned i = 0; i < 16; i++) {
        if (i != LL_RSP && (point->live >> i & 1) == 0) {
            registers.general[i] = 0;
        }
    }
    return registers;
}

static void ignore_saved(const struct ll_registers* registers, void* context) {
    (void)registers;
    (void)context;
}

static uint32_t stack_of(const struct ll_registers* registers) {
    struct ll_stopped_frames frames = {0};
    struct ll_walk_start start = {.registers = *registers};
    ll_stopped_frames_walk(&frames, &start, ignore_saved, NULL);
    uint32_t node = frames.count > 0 ? ll_stopped_frames_node(&frames, 0) : 0;
    ll_stopped_frames_release(&frames);
    return node;
}

// Whether anything still refers to the block at a point; `holder` tells what.
static bool is_held(struct ll_followed* watch, const struct ll_watch_point* point,
                    const struct ll_registers* registers, void* signal_context,
                    struct ll_holder* holder) {
    bool vector = (point->live & LL_WATCH_VECTOR) != 0;
    struct ll_live_state live = {.registers = live_registers(point, *registers),
                                 .signal_context = vector ? signal_context : NULL,
                                 .red_zone = (point->live & LL_WATCH_RED_ZONE) != 0};
    *holder = ll_holder_find(&live.registers, live.red_zone, watch->block, watch->end);
    if (holder->kind != LL_HOLDER_none) {
        return true;
    }
    if (is_recurring(watch) && watch->marks >= MARKS_OF_RECURRING) {
        finish(watch, LL_REFINED_held);
        return true;
    }
    if (watch->marks++ >= MARKS_MAX ||
        (!is_recurring(watch) && marks_made >= MARKS_OF_ALL)) {
        finish(watch, LL_REFINED_given_up);
        return true;
    }
    marks_made++;
    if (ll_process_reaches(watch->block, &live)) {
        holder->kind = LL_HOLDER_memory;
        return true;
    }
    return false;
}

// A frame that was there at the birth returns: its function is watched for fewer.
static void count_return(struct ll_followed* watch, const struct ll_watch_point* point,
                         uintptr_t stack_pointer) {
    const struct ll_watch_target* target = target_of(watch);
    uint64_t mask = ll_lock_take_masked(&lock);
    uint32_t all_left = 0;
    for (uint32_t i = 0; i < target->use_count; i++) {
        uint32_t use = target->first_use + i;
        if (list.uses[use].function == point->function && left[use] > 0 &&
            stack_pointer > watch->stack_pointer && --left[use] == 0) {
            ll_traps_take(point->function);
        }
        all_left += left[use];
    }
    ll_lock_drop_masked(&lock, mask);
    if (all_left == 0 && is_recurring(watch)) {
        finish(watch, LL_REFINED_held);
    } else if (all_left == 0 && !waits_for(watch, LL_WATCH_FROM_BIRTH)) {
        wait_again(watch);
    }
}

static void examine(struct ll_followed* watch, const struct ll_watch_point* point,
                    const struct ll_registers* registers, void* signal_context) {
    struct ll_followed_step* step = &watch->steps[watch->steps_taken++ % LL_STEPS_KEPT];
    uintptr_t stack_pointer = registers->general[LL_RSP];
    step->pc = registers->pc;
    step->rbp_from_sp = (int64_t)(registers->general[LL_RBP] - stack_pointer);
    if (!is_held(watch, point, registers, signal_context, &step->holder)) {
        watch->loss = stack_of(registers);
        finish(watch, LL_REFINED_lost);
    } else if (step->holder.kind == LL_HOLDER_memory &&
               !waits_for(watch, LL_WATCH_FROM_BIRTH)) {
        wait_again(watch);
    } else if (watch->state == LL_REFINED_held && point->kind == LL_WATCH_RETURN) {
        count_return(watch, point, stack_pointer);
    } else if (is_recurring(watch) && watch->steps_taken >= STEPS_OF_RECURRING) {
        finish(watch, LL_REFINED_held);
    }
}

// Whether the store at a point is the loss in memory that a watch waits for.
static bool is_at_trigger(const struct ll_followed* watch,
                          const struct ll_watch_point* point,
                          const struct ll_registers* registers) {
    if (!waits_for(watch, LL_WATCH_FROM_STORE)) {
        return false;
    }
    const struct ll_watch_store* store = &list.stores[target_of(watch)->store];
    return &list.points[store->point] == point &&
           ll_trigger_overwrites(store, module_biases[point->module], registers,
                                 watch->block, watch->end);
}

// Behind a loss in memory, only frames that were there may hold the block: what later
// ones find on the stack is left from earlier.
static bool may_hold(const struct ll_followed* watch,
                     const struct ll_watch_point* point) {
    const struct ll_watch_target* target = target_of(watch);
    for (uint32_t i = 0; i < target->use_count; i++) {
        uint32_t use = target->first_use + i;
        if (list.uses[use].function == point->function && left[use] > 0) {
            return true;
        }
    }
    return target->trigger == LL_WATCH_FROM_BIRTH;
}

static void meet(struct ll_followed* watch, const struct ll_watch_point* point,
                 const struct ll_registers* registers, void* signal_context) {
    if (is_at_trigger(watch, point, registers)) {
        // Below the frame that stores, so that its return counts.
        begin_behind_loss(watch, registers->general[LL_RSP] - 1);
    } else if (watch->is_followed && watch->thread == thread_id() &&
               may_hold(watch, point)) {
        examine(watch, point, registers, signal_context);
    }
}

bool ll_refine_trapped(const siginfo_t* information, void* signal_context) {
    if (watches == NULL) {
        return false;
    }
    struct ll_registers registers;
    ll_registers_interrupted(signal_context, &registers);
    if (information->si_code == TRAP_TRACE) {
        return ll_traps_end_step(signal_context);
    }
    registers.pc--;
    const struct ll_watch_point* point = ll_traps_point_at(registers.pc);
    if (point == NULL) {
        return false;
    }
    for (uint32_t i = 0; is_on && i < list.target_count; i++) {
        if (watches[i].state == LL_REFINED_held) {
            meet(&watches[i], point, &registers, signal_context);
        }
    }
    ll_traps_step(point, signal_context);
    return true;
}

void ll_refine_record(void) {
    for (uint32_t i = 0; watches != NULL && i < list.target_count; i++) {
        ll_followed_record(&watches[i], i);
    }
}

static bool are_recurring(void) {
    return list.target_count > 0 && is_recurring(&watches[0]);
}

// What the parent follows or followed is the parent's to tell.
static void forget_followed(void) {
    for (uint32_t i = 0; i < list.target_count; i++) {
        finish(&watches[i], LL_REFINED_not_met);
        watches[i].state = LL_REFINED_not_met;
        watches[i].loss = 0;
        watches[i].steps_taken = 0;
    }
}

static void end_in_child(void) {
    ll_ordinals_follow(NULL, NULL, NULL);
    if (is_on) {
        is_on = false;
        ll_traps_end();
    }
    watches = NULL;
}

void ll_refine_fork_child(void) {
    ll_lock_renew(&lock);
    if (is_on && !is_expected && !are_recurring()) {
        forget_followed();
    } else {
        is_expected = false;
        end_in_child();
    }
}
