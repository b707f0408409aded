#include "os/world.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "os/arrivals.h"
#include "os/memory.h"
#include "os/own_thread.h"
#include "os/syscall.h"
#include "os/tasks.h"

// A thread that was sent the signal, as the stopper keeps account of it.
struct asked {
    int tid;
    bool settled; // stopped, gone, or given up
    bool gone;    // has ended meanwhile
};

struct table {
    void* start;
    size_t capacity;
};

enum { REFUSALS_MAX = 20000 };

static uint32_t stops; // number of the current or last stop, from 1

static struct table asked_table;
static size_t asked_count;
static bool asked_complete; // no thread was left out for want of memory
static unsigned refusals;   // times that the queue of signals was full in this stop
static bool refused_in_pass;
static struct table stopped_table;

// Makes room for `count` elements and keeps the first `kept`. False without memory.
static bool make_room(struct table* table, size_t count, size_t kept, size_t element) {
    if (count <= table->capacity) {
        return true;
    }
    size_t capacity =
        (count * 2 * element + LL_PAGE_SIZE) / LL_PAGE_SIZE * LL_PAGE_SIZE / element;
    void* start = ll_memory_map((capacity * element + LL_PAGE_SIZE - 1) / LL_PAGE_SIZE *
                                LL_PAGE_SIZE);
    if (start == NULL) {
        return false;
    }
    if (table->start != NULL) {
        memcpy(start, table->start, kept * element);
        ll_memory_unmap(table->start, (table->capacity * element + LL_PAGE_SIZE - 1) /
                                          LL_PAGE_SIZE * LL_PAGE_SIZE);
    }
    table->start = start;
    table->capacity = capacity;
    return true;
}

static struct asked* asked_threads(void) {
    return asked_table.start;
}

static bool is_asked(int tid) {
    for (size_t i = 0; i < asked_count; i++) {
        if (asked_threads()[i].tid == tid) {
            return true;
        }
    }
    return false;
}

static siginfo_t message(uint64_t value) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    information.si_code = SI_QUEUE;
    information.si_pid = (pid_t)ll_syscall(SYS_getpid);
    information.si_uid = (uid_t)ll_syscall(SYS_geteuid);
    information.si_value.sival_ptr = (void*)value;
    return information;
}

bool ll_world_ask(int pid, uint64_t value) {
    siginfo_t information = message(value);
    return ll_syscall(SYS_rt_sigqueueinfo, pid, ll_world_signal(), &information) == 0;
}

bool ll_world_ask_thread(int pid, int tid, uint64_t value) {
    siginfo_t information = message(value);
    return ll_syscall(SYS_rt_tgsigqueueinfo, pid, tid, ll_world_signal(),
                      &information) == 0;
}

static long send_stop(int tid) {
    siginfo_t information = message(LL_STOP_MAGIC << 32 | stops);
    return ll_syscall(SYS_rt_tgsigqueueinfo, information.si_pid, tid, ll_world_signal(),
                      &information);
}

// Asks a thread to stop unless that was done. A thread that has gone is passed over;
// one for which the user's queue of signals is full is asked again in the next pass.
static bool ask_task(int tid, void* context) {
    int self = *(int*)context;
    if (tid == self || tid == ll_own_thread_id() || is_asked(tid)) {
        return true;
    }
    if (!make_room(&asked_table, asked_count + 1, asked_count, sizeof(struct asked))) {
        asked_complete = false;
        return false;
    }
    long result = send_stop(tid);
    if (result == -EAGAIN && refusals < REFUSALS_MAX) {
        refusals++;
        refused_in_pass = true;
        return true;
    }
    asked_threads()[asked_count++] =
        (struct asked){.tid = tid, .settled = result != 0, .gone = result == -ESRCH};
    return true;
}

static bool is_among(const struct ll_arrival* arrivals, int tid) {
    for (; arrivals != NULL; arrivals = arrivals->next) {
        if (arrivals->thread.tid == tid) {
            return true;
        }
    }
    return false;
}

// Looks at a thread that has not come yet. Returns true if it is on its way: it runs,
// or waits for a processor.
static bool is_coming(struct asked* asked) {
    struct ll_task task = ll_task_inspect(asked->tid);
    asked->gone = task.state == 0 || task.state == 'Z' || task.state == 'X';
    asked->settled = asked->gone || task.state == 'T' || task.state == 't';
    return !asked->settled && task.state == 'R';
}

static void give_up_all(void) {
    for (size_t i = 0; i < asked_count; i++) {
        asked_threads()[i].settled = true;
    }
}

// Threads still awaited. A thread that sleeps with the signal blocked will not come;
// but it may be waiting for one that runs with the signal blocked, as our own locks do,
// so nobody is given up while another is on its way.
static size_t unsettled(unsigned waited_ms) {
    enum { ASLEEP_PATIENCE_MS = 30, PATIENCE_MS = 10000 };
    const struct ll_arrival* arrivals = atomic_load(&ll_stop_arrivals);
    size_t count = 0;
    bool any_coming = false;
    for (size_t i = 0; i < asked_count; i++) {
        struct asked* asked = &asked_threads()[i];
        if (!asked->settled) {
            asked->settled = is_among(arrivals, asked->tid);
        }
        if (!asked->settled && waited_ms > 0) {
            any_coming |= is_coming(asked);
        }
        count += !asked->settled;
    }
    if (waited_ms >= (any_coming ? PATIENCE_MS : ASLEEP_PATIENCE_MS)) {
        give_up_all();
        return 0;
    }
    return count;
}

// Waits until every asked thread has come, is gone or was given up.
static void settle(void) {
    unsigned waited_ms = 0;
    unsigned pause_ms = 1;
    for (;;) {
        uint32_t seen = atomic_load(&ll_stop_arrived);
        if (seen >= asked_count || unsettled(waited_ms) == 0) {
            return;
        }
        struct timespec pause = {0, pause_ms * 1000000L};
        ll_stop_wait(&ll_stop_arrived, seen, &pause);
        if (atomic_load(&ll_stop_arrived) == seen) {
            waited_ms += pause_ms;
            pause_ms = pause_ms < 32 ? pause_ms * 2 : 32;
        }
    }
}

static struct ll_stopped_thread thread_not_stopped(int tid) {
    struct ll_stopped_thread thread = {.tid = tid};
    thread.registers.general[LL_RSP] = ll_task_inspect(tid).stack_pointer;
    return thread;
}

static bool collect(struct ll_world* world) {
    if (!make_room(&stopped_table, asked_count, 0, sizeof(struct ll_stopped_thread))) {
        return false;
    }
    // One list for both loops: a thread that was given up may still come.
    const struct ll_arrival* arrivals = atomic_load(&ll_stop_arrivals);
    world->threads = stopped_table.start;
    world->count = 0;
    for (const struct ll_arrival* at = arrivals; at != NULL; at = at->next) {
        world->threads[world->count++] = at->thread;
    }
    for (size_t i = 0; i < asked_count; i++) {
        const struct asked* asked = &asked_threads()[i];
        if (!asked->gone && !is_among(arrivals, asked->tid)) {
            world->threads[world->count++] = thread_not_stopped(asked->tid);
        }
    }
    return true;
}

// Asks all threads listed now; false when the list could not be read.
static bool ask_all(int self) {
    refused_in_pass = false;
    bool listed = ll_tasks_visit(ask_task, &self);
    settle();
    if (refused_in_pass) {
        struct timespec pause = {0, 1000000};
        ll_syscall(SYS_nanosleep, &pause, NULL);
    }
    return listed && asked_complete;
}

static void close_world(void) {
    stops = stops == UINT32_MAX ? 1 : stops + 1;
    asked_count = 0;
    asked_complete = true;
    refusals = 0;
    atomic_store(&ll_stop_arrivals, NULL);
    atomic_store(&ll_stop_arrived, 0);
    atomic_store(&ll_stop_closed, stops);
}

bool ll_world_stop(struct ll_world* world) {
    int self = (int)ll_syscall(SYS_gettid);
    size_t known;
    bool listed;
    close_world();
    // A thread may be born while others are asked; its parent is stopped after that, so
    // a pass that finds nothing new is the last.
    do {
        known = asked_count;
        listed = ask_all(self);
    } while (listed && (asked_count > known || refused_in_pass));
    if (!listed || !collect(world)) {
        ll_world_resume(world);
        return false;
    }
    return true;
}

bool ll_world_is_still(const struct ll_world* world) {
    for (size_t i = 0; i < world->count; i++) {
        if (!world->threads[i].stopped) {
            return false;
        }
    }
    return true;
}

void ll_world_resume(struct ll_world* world) {
    world->count = 0;
    atomic_store(&ll_stop_closed, 0);
    ll_stop_wake(&ll_stop_closed);
}
