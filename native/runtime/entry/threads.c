// Threads begin and end. A thread's start is announced from its own first frame; its
// end by the destructor of a thread-specific key, so that return, pthread_exit and
// cancellation are all the same.
#include "entry/threads.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <threads.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "entry/site.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/roots.h"
#include "lens/stamps.h"
#include "os/lock.h"
#include "os/memory.h"
#include "patch/hooks.h"
#include "patch/patch.h"
#include "patch/sites.h"
#include "process/process.h"
#include "stack/stack.h"

// What the program passed to pthread_create, until the new thread takes it. Kept apart
// from the heap, so that it is never reported, in memory that is a root, since it may
// be the only place that leads to the argument.
struct beginning {
    struct beginning* next_free;
    union {
        void* (*posix)(void*);
        thrd_start_t c11;
    } routine;
    void* argument;
};

static struct ll_lock beginnings_lock;
static struct beginning* free_beginnings;

static pthread_key_t end_key;
static bool end_key_exists;

static LL_THREAD_LOCAL struct {
    uintptr_t start;
    uintptr_t frames_end; // above are libc's first frame and thread-local variables
    uintptr_t end;
    uintptr_t routine; // the program's first function on it
} stack_range;

// Where the thread called pthread_exit, 0 if it did not.
static LL_THREAD_LOCAL uint32_t exit_site;

// Adds one page of beginnings to the list of free ones.
static void make_beginnings(void) {
    struct beginning* page = ll_memory_map(LL_PAGE_SIZE);
    if (page == NULL) {
        return;
    }
    ll_roots_add(page, LL_PAGE_SIZE);
    for (size_t i = 0; i < LL_PAGE_SIZE / sizeof *page; i++) {
        page[i].next_free = free_beginnings;
        free_beginnings = &page[i];
    }
}

static struct beginning* take_beginning(void) {
    uint64_t mask = ll_lock_take_masked(&beginnings_lock);
    if (free_beginnings == NULL) {
        make_beginnings();
    }
    struct beginning* taken = free_beginnings;
    if (taken != NULL) {
        free_beginnings = taken->next_free;
        *taken = (struct beginning){0};
    }
    ll_lock_drop_masked(&beginnings_lock, mask);
    return taken;
}

static void give_back(struct beginning* beginning) {
    uint64_t mask = ll_lock_take_masked(&beginnings_lock);
    *beginning = (struct beginning){.next_free = free_beginnings};
    free_beginnings = beginning;
    ll_lock_drop_masked(&beginnings_lock, mask);
}

// What the frames from `frames_start` on hold goes with the thread, and what its
// thread-local variables do.
static void stamp_thread_exit(uintptr_t frames_start) {
    if (!ll_stamps_on || stack_range.end == 0) {
        return;
    }
    struct ll_ending ending = {
        .frames_start = frames_start,
        .frames_end = stack_range.frames_end,
        .end = stack_range.end,
        .node = exit_site != 0
                    ? exit_site
                    : ll_stack_child(0, stack_range.routine, LL_NODE_exact_pc),
    };
    ll_stamp_thread_exit(&ending);
}

// All frames have returned or were unwound. What destructors of keys do to the thread's
// variables, libc's own clearing of the keys among it, is no loss any more but its end.
static void stamp_thread_variables(void) {
    stamp_thread_exit(stack_range.frames_end);
    ll_hooks_set_stack_end(0);
}

static void end_thread(void) {
    stamp_thread_variables();
    ll_heap_thread_exit();
    ll_stack_thread_exit();
    if (stack_range.end != 0) {
        ll_roots_thread_stack_end(stack_range.start, stack_range.end);
    }
}

// Other keys' destructors may still allocate, so ours waits for the last round. In the
// first one it comes before them, since its key was made first.
static void on_key_destroyed(void* value) {
    uintptr_t round = (uintptr_t)value;
    if (round == 1) {
        stamp_thread_variables();
    }
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS &&
        pthread_setspecific(end_key, (void*)(round + 1)) == 0) {
        return;
    }
    end_thread();
}

static void await_end(void) {
    if (end_key_exists) {
        pthread_setspecific(end_key, (void*)1);
    }
}

void ll_threads_start(void) {
    end_key_exists = pthread_key_create(&end_key, on_key_destroyed) == 0;
}

// The part of the stack in use, up to the control block that libc puts on top of it.
static void announce_used_stack(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    ll_stack_thread_start(here & ~(uintptr_t)(LL_PAGE_SIZE - 1),
                          (uintptr_t)pthread_self());
}

// pthread_getattr_np allocates, and by then the stack walk wants to know the part in
// use. Only looks need to know all of it.
static void announce_stack(void) {
    pthread_attr_t attributes;
    void* start;
    size_t size_bytes;
    announce_used_stack();
    if (!ll_process_is_watched() ||
        pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &start, &size_bytes) == 0) {
        stack_range.start = (uintptr_t)start;
        stack_range.end = (uintptr_t)start + size_bytes;
        ll_roots_thread_stack_begin(stack_range.start, stack_range.end);
        ll_stack_thread_start(stack_range.start, stack_range.end);
    }
    pthread_attr_destroy(&attributes);
}

static void begin_thread(uintptr_t routine, uintptr_t frames_end) {
    stack_range.routine = routine;
    stack_range.frames_end = frames_end;
    ll_hooks_set_stack_end(frames_end);
    announce_stack();
    await_end();
}

// The two first frames of threads end in a jump to the program's routine, so that they
// do not appear in its call stacks, and its frame begins where theirs did.
static void* begin_posix_thread(void* argument) {
    struct beginning beginning = *(struct beginning*)argument;
    begin_thread((uintptr_t)beginning.routine.posix, (uintptr_t)__builtin_dwarf_cfa());
    give_back(argument);
    return beginning.routine.posix(beginning.argument);
}

static int begin_c11_thread(void* argument) {
    struct beginning beginning = *(struct beginning*)argument;
    begin_thread((uintptr_t)beginning.routine.c11, (uintptr_t)__builtin_dwarf_cfa());
    give_back(argument);
    return beginning.routine.c11(beginning.argument);
}

LL_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                             void* (*routine)(void*), void* argument) {
    ll_patch_lock_clock();
    ll_sites_lock_clock();
    struct beginning* beginning = take_beginning();
    if (beginning == NULL) {
        return ll_real()->pthread_create(thread, attributes, routine, argument);
    }
    beginning->routine.posix = routine;
    beginning->argument = argument;
    int error =
        ll_real()->pthread_create(thread, attributes, begin_posix_thread, beginning);
    if (error != 0) {
        give_back(beginning);
    }
    return error;
}

LL_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
    ll_patch_lock_clock();
    ll_sites_lock_clock();
    struct beginning* beginning = take_beginning();
    if (beginning == NULL) {
        return ll_real()->thrd_create(thread, routine, argument);
    }
    beginning->routine.c11 = routine;
    beginning->argument = argument;
    int error = ll_real()->thrd_create(thread, begin_c11_thread, beginning);
    if (error != thrd_success) {
        give_back(beginning);
    }
    return error;
}

// The frames above this one are left without returning.
LL_EXPORT void pthread_exit(void* result) {
    exit_site = ll_stamps_on ? LL_SITE() : 0;
    stamp_thread_exit(LL_CALLER().sp);
    ll_real()->pthread_exit(result);
    __builtin_unreachable();
}

static LL_THREAD_LOCAL uint64_t mask_before_fork;

void ll_threads_fork_prepare(void) {
    mask_before_fork = ll_lock_take_masked(&beginnings_lock);
}

void ll_threads_fork_done(void) {
    ll_lock_drop_masked(&beginnings_lock, mask_before_fork);
}
