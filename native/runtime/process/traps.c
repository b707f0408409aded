#include "process/traps.h"

#include <fcntl.h>
#include <ucontext.h>

#include "base/attributes.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"

enum { BREAKPOINT = 0xcc, TRAP_FLAG = 0x100 };

// A point in a loop tells no more after so many hits. One that is waited for may be
// hit often before its time comes; all of these together.
enum { HITS_MAX = 1000, WAITED_HITS_MAX = 200000 };

struct state {
    uintptr_t address;
    uint32_t hits;
    uint32_t users;   // watches that want this point, whoever wants its function
    bool armed;       // the breakpoint is in place, or a step over it is under way
    bool is_left_out; // the code was changed here
};

static const struct ll_watch_list* list;
static struct state* states;
static uint32_t* users; // by function: watches that want its breakpoints
static uint32_t waited_hits;

// The point that the calling thread steps over, or NULL.
static LL_THREAD_LOCAL struct state* stepping;

static int open_memory(void) {
    return ll_file_open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static bool write_byte(int memory, uintptr_t address, uint8_t byte) {
    return ll_syscall(SYS_pwrite64, memory, &byte, 1, address) == 1;
}

static uint32_t index_of(const struct state* state) {
    return (uint32_t)(state - states);
}

static bool put(int memory, struct state* state, bool armed) {
    const struct ll_watch_point* point = &list->points[index_of(state)];
    uint8_t byte = armed ? BREAKPOINT : point->first_byte;
    state->armed = armed;
    return state->address == 0 || state->is_left_out ||
           write_byte(memory, state->address, byte);
}

static bool locate(const uintptr_t* biases, enum ll_traps_code code) {
    for (uint32_t i = 0; i < list->point_count; i++) {
        const struct ll_watch_point* point = &list->points[i];
        uintptr_t bias = biases[point->module];
        if (bias == LL_TRAPS_NOT_LOADED) {
            continue;
        }
        states[i].address = bias + point->address;
        bool is_changed = *(const uint8_t*)states[i].address != point->first_byte;
        if (is_changed && code == LL_TRAPS_ORIGINAL_CODE) {
            return false;
        }
        states[i].is_left_out = is_changed;
    }
    return true;
}

static void* map_array(size_t count, size_t size) {
    size_t bytes = (count * size + LL_PAGE_SIZE) & -(size_t)LL_PAGE_SIZE;
    return ll_memory_map(bytes);
}

static bool can_write(int memory) {
    for (uint32_t i = 0; i < list->point_count; i++) {
        if (states[i].address != 0 && !states[i].is_left_out) {
            return write_byte(memory, states[i].address, list->points[i].first_byte);
        }
    }
    return true;
}

bool ll_traps_start(const struct ll_watch_list* watch_list, const uintptr_t* biases,
                    enum ll_traps_code code) {
    list = watch_list;
    states = map_array(list->point_count, sizeof *states);
    users = map_array(list->function_count, sizeof *users);
    int memory = open_memory();
    bool usable = states != NULL && users != NULL && memory >= 0 &&
                  locate(biases, code) && can_write(memory);
    if (memory >= 0) {
        ll_file_close(memory);
    }
    return usable;
}

static void put_all(uint32_t function, bool armed) {
    const struct ll_watch_function* range = &list->functions[function];
    int memory = open_memory();
    for (uint32_t i = 0; memory >= 0 && i < range->point_count; i++) {
        struct state* state = &states[range->first_point + i];
        put(memory, state, armed || state->users > 0);
    }
    if (memory >= 0) {
        ll_file_close(memory);
    }
}

void ll_traps_set(uint32_t function) {
    if (users[function]++ == 0) {
        put_all(function, true);
    }
}

void ll_traps_take(uint32_t function) {
    if (--users[function] == 0) {
        put_all(function, false);
    }
}

static void put_one(struct state* state, bool armed) {
    int memory = open_memory();
    if (memory >= 0) {
        put(memory, state, armed);
        ll_file_close(memory);
    }
}

static bool is_wanted(const struct state* state) {
    const struct ll_watch_point* point = &list->points[index_of(state)];
    bool is_fresh = state->hits < HITS_MAX || point->kind == LL_WATCH_RETURN;
    return (users[point->function] > 0 && is_fresh) ||
           (state->users > 0 && waited_hits < WAITED_HITS_MAX);
}

void ll_traps_set_point(uint32_t point) {
    states[point].users++;
    if (is_wanted(&states[point])) {
        put_one(&states[point], true);
    }
}

void ll_traps_take_point(uint32_t point) {
    states[point].users--;
    if (!is_wanted(&states[point])) {
        put_one(&states[point], false);
    }
}

void ll_traps_end(void) {
    for (uint32_t i = 0; i < list->function_count; i++) {
        if (users[i] > 0) {
            users[i] = 0;
            put_all(i, false);
        }
    }
    for (uint32_t i = 0; i < list->point_count; i++) {
        if (states[i].users > 0) {
            states[i].users = 0;
            put_one(&states[i], false);
        }
    }
}

const struct ll_watch_point* ll_traps_point_at(uintptr_t address) {
    for (uint32_t i = 0; i < list->function_count; i++) {
        const struct ll_watch_function* range = &list->functions[i];
        uint32_t low = range->first_point;
        uint32_t high = low + range->point_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (states[middle].address < address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < range->first_point + range->point_count &&
            states[low].address == address) {
            return &list->points[low];
        }
    }
    return NULL;
}

static greg_t* flags_of(void* signal_context) {
    ucontext_t* context = signal_context;
    return &context->uc_mcontext.gregs[REG_EFL];
}

bool ll_traps_end_step(void* signal_context) {
    struct state* state = stepping;
    if (state == NULL) {
        return false;
    }
    stepping = NULL;
    *flags_of(signal_context) &= ~(greg_t)TRAP_FLAG;
    if (is_wanted(state)) {
        put_one(state, true);
    }
    return true;
}

void ll_traps_step(const struct ll_watch_point* point, void* signal_context) {
    ucontext_t* context = signal_context;
    struct state* state = &states[point - list->points];
    // A handler that was left by a jump leaves its step behind.
    ll_traps_end_step(signal_context);
    state->hits++;
    waited_hits += state->users > 0;
    put_one(state, false);
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)state->address;
    *flags_of(signal_context) |= TRAP_FLAG;
    stepping = state;
}
