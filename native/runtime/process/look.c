// One look at the heap: the world stops, the lenses look, the snapshot is written. It
// runs on a stack of its own, since the program's may be tiny (a signal stack) and its
// frames must not lie on a stack that is scanned.
#include <stddef.h>
#include <time.h>

#include "arm/schedule.h"
#include "arm/wake.h"
#include "base/options.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/pages.h"
#include "lens/reach.h"
#include "lens/touches.h"
#include "os/backing.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "process/copy.h"
#include "process/life.h"
#include "process/process.h"
#include "process/refine.h"
#include "process/registers.h"
#include "record/recording.h"
#include "stack/stack.h"

enum { LOOK_STACK_SIZE = 256 * 1024 };

static char* look_stack;

bool ll_look_start(void) {
    look_stack = ll_memory_map(LOOK_STACK_SIZE);
    return look_stack != NULL;
}

static void run_on_look_stack(void (*function)(void*), void* argument) {
    ll_call_on_stack(function, argument, look_stack + LOOK_STACK_SIZE);
}

static bool is_last(uint32_t trigger) {
    return trigger == LL_TRIGGER_exit || trigger == LL_TRIGGER_quick_exit ||
           trigger == LL_TRIGGER_signal;
}

// A child that has allocated nothing since it was forked has nothing of its own to
// lose, and its parent's heap may be large.
static bool has_own_blocks(void) {
    return ll_life.origin == LL_ORIGIN_exec || ll_heap_allocated_since_fork();
}

static struct ll_look describe(const struct ll_occasion* occasion) {
    ll_stack_keep_nodes();
    return (struct ll_look){
        .number = ++ll_life.looks,
        .trigger = occasion->trigger,
        .signal = occasion->trigger == LL_TRIGGER_signal ? occasion->status : 0,
        .request = occasion->request,
        .cpu_ns = ll_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .self = occasion->self,
        .vector_registers = occasion->vector_registers,
        .vector_size_bytes = occasion->vector_size_bytes,
    };
}

static void record_end(const struct ll_occasion* occasion) {
    struct ll_record_process_end end = {
        .trigger = occasion->trigger,
        .status = occasion->status,
        .realtime_ns = ll_clock_ns(CLOCK_REALTIME),
    };
    ll_record(LL_RECORD_process_end, &end, sizeof end, NULL, 0);
}

struct looking {
    const struct ll_occasion* occasion;
    uint64_t lost_blocks;
};

// Looks with the world stopped. Without a list of threads nothing can be stopped, and
// a heap that changes meanwhile cannot be read.
static void look_stopped(struct looking* looking) {
    struct ll_world world;
    struct ll_look look = describe(looking->occasion);
    if (!ll_world_stop(&world)) {
        ll_life_record_not_seen(LL_NOT_SEEN_thread, 0, "threads could not be listed");
        return;
    }
    ll_pages_settle();
    if (ll_touches_on) {
        ll_schedule_let_all_pages_go();
    }
    looking->lost_blocks = ll_reach_look(&look, &world);
    ll_pages_resume();
    if (looking->occasion->trigger != LL_TRIGGER_signal) {
        ll_world_resume(&world);
    }
}

static void look(void* argument) {
    struct looking* looking = argument;
    if (has_own_blocks()) {
        look_stopped(looking);
    }
    if (is_last(looking->occasion->trigger)) {
        ll_life.ended = true;
        ll_refine_record();
        record_end(looking->occasion);
    }
    ll_recording_flush();
}

uint64_t ll_process_look(const struct ll_occasion* occasion) {
    struct looking looking = {.occasion = occasion};
    if (!ll_process_is_watched() || look_stack == NULL) {
        return 0;
    }
    uint64_t mask = ll_look_lock();
    if (!ll_life.ended) {
        ll_life_record_pending();
        run_on_look_stack(look, &looking);
    }
    ll_look_unlock(mask);
    return looking.lost_blocks;
}

struct question {
    struct ll_look look;
    uintptr_t block;
    bool answer;
};

static void ask(void* argument) {
    struct question* question = argument;
    struct ll_world world;
    if (ll_world_stop(&world)) {
        question->answer = ll_reach_holds(&question->look, &world, question->block);
        ll_world_resume(&world);
    }
}

bool ll_process_reaches(uintptr_t block, const struct ll_live_state* self) {
    struct question question = {.block = block, .answer = true};
    question.look = (struct ll_look){.trigger = LL_TRIGGER_program,
                                     .self = self->registers,
                                     .no_red_zone = !self->red_zone};
    if (self->signal_context != NULL) {
        question.look.vector_registers =
            ll_vector_registers(self->signal_context, &question.look.vector_size_bytes);
    }
    if (look_stack == NULL) {
        return true;
    }
    uint64_t mask = ll_look_lock();
    run_on_look_stack(ask, &question);
    ll_look_unlock(mask);
    return question.answer;
}

void ll_process_leave(const struct ll_occasion* occasion, const char* sentence) {
    ll_process_look(occasion);
    if (ll_touches_on) {
        ll_schedule_stop();
        ll_wake_end();
    }
    uint64_t mask = ll_look_lock();
    if (ll_life.watched && !ll_life.ended) {
        ll_life_record_not_seen(LL_NOT_SEEN_sandbox, 0, sentence);
        record_end(occasion);
        ll_recording_flush();
        ll_life.watched = false;
    }
    ll_look_unlock(mask);
}

// Blocks in shared memory change in the copy as they do in the program, so whoever
// reads them has to do it while the world is stopped.
static bool can_look_in_copy(void) {
    return !ll_backing_is_shared() || !ll_reach_is_wanted();
}

// Makes the copy with the world stopped, so that it holds one moment of all threads.
static void look_in_copy(void* argument) {
    struct looking* looking = argument;
    struct ll_world world;
    struct ll_look look = describe(looking->occasion);
    if (!ll_world_stop(&world)) {
        return;
    }
    ll_pages_settle();
    if (!can_look_in_copy()) {
        ll_reach_look(&look, &world);
    } else if (ll_copy_make() == LL_COPY_SELF) {
        ll_reach_look(&look, &world);
        ll_recording_flush();
        ll_copy_end();
    }
    ll_pages_resume();
    ll_world_resume(&world);
}

static void merge_pages(void* unused) {
    (void)unused;
    struct ll_world world;
    bool is_stopped = ll_world_stop(&world);
    ll_pages_merge(is_stopped && ll_world_is_still(&world));
    if (is_stopped) {
        ll_world_resume(&world);
    }
}

void ll_process_merge_pages(void) {
    uint64_t mask;
    if (!ll_process_is_watched() || look_stack == NULL || !ll_look_try_lock(&mask)) {
        return;
    }
    if (!ll_life.ended) {
        run_on_look_stack(merge_pages, NULL);
    }
    ll_look_unlock(mask);
}

void ll_process_snapshot(const struct ll_occasion* occasion) {
    struct looking looking = {.occasion = occasion};
    uint64_t mask;
    if (!ll_process_is_watched() || look_stack == NULL || !ll_look_try_lock(&mask)) {
        return;
    }
    if (!ll_life.ended) {
        ll_life_record_pending();
        ll_recording_flush();
        ll_copy_reap();
        run_on_look_stack(look_in_copy, &looking);
    }
    ll_look_unlock(mask);
}
