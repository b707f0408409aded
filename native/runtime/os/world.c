#include "os/world.h"

#include <string.h>
#include <time.h>

#include "os/arrivals.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "os/tasks.h"

// A thread that was sent the signal, as the stopper keeps account of it.
struct asked {
    int tid;
    bool settled; // stopped, gone, or given up
    bool gone;
};

struct table {
    void* start;
    size_t capacity;
};

static uint32_t stops; // number of the current or last stop, from 1

static struct table asked_table;
static size_t asked_count;
static bool asked_complete; // no thread was left out for want of memory
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

static bool send_stop(int tid) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    information.si_code = SI_QUEUE;
    information.si_pid = (pid_t)ll_syscall(SYS_getpid);
    information.si_value.sival_ptr = (void*)(LL_STOP_MAGIC << 32 | stops);
    return ll_syscall(SYS_rt_tgsigqueueinfo, information.si_pid, tid, ll_world_signal(),
                      &information) == 0;
}

static bool ask_task(int tid, void* context) {
    int self = *(int*)context;
    if (tid == self || is_asked(tid)) {
        return true;
    }
    if (!make_room(&asked_table, asked_count + 1, asked_count, sizeof(struct asked))) {
        asked_complete = false;
        return false;
    }
    bool sent = send_stop(tid);
    asked_threads()[asked_count++] =
        (struct asked){.tid = tid, .settled = !sent, .gone = !sent};
    return true;
}

static bool has_arrived(int tid) {
    for (const struct ll_arrival* at = atomic_load(&ll_stop_arrivals); at != NULL;
         at = at->next) {
        if (at->thread.tid == tid) {
            return true;
        }
    }
    return false;
}

// Decides about a thread that has not come yet after `waited_ms`.
static void judge(struct asked* asked, unsigned waited_ms) {
    // A new thread blocks all signals for an instant; others for good.
    enum { BLOCKED_PATIENCE_MS = 30, ASLEEP_PATIENCE_MS = 200, PATIENCE_MS = 10000 };
    struct ll_task task = ll_task_inspect(asked->tid);
    bool blocks = (task.blocked >> (ll_world_signal() - 1) & 1) != 0;
    asked->gone = task.state == 0 || task.state == 'Z' || task.state == 'X';
    asked->settled = asked->gone || task.state == 'T' || task.state == 't' ||
                     (blocks && waited_ms >= BLOCKED_PATIENCE_MS) ||
                     (task.state == 'D' && waited_ms >= ASLEEP_PATIENCE_MS) ||
                     waited_ms >= PATIENCE_MS;
}

static size_t unsettled(unsigned waited_ms) {
    size_t count = 0;
    for (size_t i = 0; i < asked_count; i++) {
        struct asked* asked = &asked_threads()[i];
        if (!asked->settled) {
            asked->settled = has_arrived(asked->tid);
        }
        if (!asked->settled && waited_ms > 0) {
            judge(asked, waited_ms);
        }
        count += !asked->settled;
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
    world->threads = stopped_table.start;
    world->count = 0;
    for (const struct ll_arrival* at = atomic_load(&ll_stop_arrivals); at != NULL;
         at = at->next) {
        world->threads[world->count++] = at->thread;
    }
    for (size_t i = 0; i < asked_count; i++) {
        const struct asked* asked = &asked_threads()[i];
        if (!asked->gone && !has_arrived(asked->tid)) {
            world->threads[world->count++] = thread_not_stopped(asked->tid);
        }
    }
    return true;
}

bool ll_world_stop(struct ll_world* world) {
    int self = (int)ll_syscall(SYS_gettid);
    size_t known;
    stops = stops == UINT32_MAX ? 1 : stops + 1;
    asked_count = 0;
    asked_complete = true;
    atomic_store(&ll_stop_arrivals, NULL);
    atomic_store(&ll_stop_arrived, 0);
    atomic_store(&ll_stop_closed, stops);
    // A thread may be born while others are asked; its parent is stopped after that, so
    // a pass that finds nothing new is the last.
    do {
        known = asked_count;
        if (!ll_tasks_visit(ask_task, &self)) {
            asked_complete = false;
        }
        settle();
    } while (asked_complete && asked_count > known);
    if (!asked_complete || !collect(world)) {
        ll_world_resume(world);
        return false;
    }
    return true;
}

void ll_world_resume(struct ll_world* world) {
    world->count = 0;
    atomic_store(&ll_stop_closed, 0);
    ll_stop_wake(&ll_stop_closed);
}
