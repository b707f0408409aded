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
#include "format/records.h"
#include "heap/heap.h"
#include "lens/roots.h"
#include "lens/stamps.h"
#include "os/lock.h"
#include "os/memory.h"
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
    uintptr_t end;
    uintptr_t routine; // the program's first function on it
} stack_range;

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

// The part of the stack in use, and the thread-local variables above it, go with the
// thread. What lies below is left over from calls that returned before.
static void stamp_thread_exit(void) {
    if (ll_stamps_on && stack_range.end != 0) {
        uint32_t node = ll_stack_child(0, stack_range.routine, LL_NODE_exact_pc);
        ll_stamp_thread_exit((uintptr_t)__builtin_frame_address(0), stack_range.end,
                             node);
    }
}

static void end_thread(void) {
    stamp_thread_exit();
    ll_heap_thread_exit();
    ll_stack_thread_exit();
    if (stack_range.end != 0) {
        ll_roots_thread_stack_end(stack_range.start, stack_range.end);
    }
}

// Other keys' destructors may still allocate, so ours waits for the last round.
static void on_key_destroyed(void* value) {
    uintptr_t round = (uintptr_t)value;
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

static void begin_thread(uintptr_t routine) {
    stack_range.routine = routine;
    announce_stack();
    await_end();
}

// The two first frames of threads end in a jump to the program's routine, so that they
// do not appear in its call stacks.
static void* begin_posix_thread(void* argument) {
    struct beginning beginning = *(struct beginning*)argument;
    begin_thread((uintptr_t)beginning.routine.posix);
    give_back(argument);
    return beginning.routine.posix(beginning.argument);
}

static int begin_c11_thread(void* argument) {
    struct beginning beginning = *(struct beginning*)argument;
    begin_thread((uintptr_t)beginning.routine.c11);
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

// The frames below are left without returning.
LL_EXPORT void pthread_exit(void* result) {
    stamp_thread_exit();
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
