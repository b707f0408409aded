// How the runtime comes up, and what it writes about the process first.
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "base/options.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/injector.h"
#include "lens/old_words.h"
#include "lens/pages.h"
#include "lens/pages_touches.h"
#include "os/syscall.h"
#include "patch/shadow.h"
#include "process/life.h"
#include "process/process.h"
#include "process/sites.h"
#include "record/recording.h"
#include "stack/stack.h"

enum { TEXT_MAX = 32 * 1024 };

// Set by the loader before anything else runs: argc, argv, environment and auxiliary
// vector lie here, long before libc knows of them.
extern void* __libc_stack_end;

struct ll_life ll_life;

static int start_state; // 0 not yet, 1 under way or done

struct initial_stack {
    char** arguments;
    char** environment;
    const Elf64_auxv_t* auxiliary;
};

static struct initial_stack initial_stack(void) {
    struct initial_stack initial;
    uintptr_t* at = __libc_stack_end;
    initial.arguments = (char**)(at + 1);
    initial.environment = initial.arguments + *at + 1;
    char** end = initial.environment;
    while (*end != NULL) {
        end++;
    }
    initial.auxiliary = (const Elf64_auxv_t*)(end + 1);
    return initial;
}

static bool is_secure(const Elf64_auxv_t* auxiliary) {
    for (; auxiliary->a_type != AT_NULL; auxiliary++) {
        if (auxiliary->a_type == AT_SECURE) {
            return auxiliary->a_un.a_val != 0;
        }
    }
    return false;
}

static const char* find_options(char** environment) {
    static const char name[] = "LEAKLINE_OPTIONS=";
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, sizeof name - 1) == 0) {
            return *environment + sizeof name - 1;
        }
    }
    return "";
}

uint64_t ll_clock_ns(int clock) {
    struct timespec now = {0};
    ll_syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// Path and arguments, each ended by a NUL byte; the last end is left out.
static size_t command_text(char* text, size_t capacity) {
    long path = ll_syscall(SYS_readlink, "/proc/self/exe", text, capacity / 2);
    size_t length = path > 0 ? (size_t)path : 0;
    for (char** argument = initial_stack().arguments; *argument != NULL; argument++) {
        size_t size = strlen(*argument) + 1;
        if (length + size > capacity) {
            break;
        }
        text[length] = '\0';
        memcpy(text + length + 1, *argument, size - 1);
        length += size;
    }
    return length;
}

static void record_option(const char* text) {
    ll_record(LL_RECORD_option, NULL, 0, text, strlen(text));
}

void ll_life_record_start(void) {
    static LL_BULK char text[TEXT_MAX];
    struct ll_record_process_start start = {
        .pid = (u32)ll_life.pid,
        .parent_pid = (u32)ll_syscall(SYS_getppid),
        .origin = ll_life.origin,
        .realtime_ns = ll_clock_ns(CLOCK_REALTIME),
    };
    ll_life.start_recorded = true;
    ll_record(LL_RECORD_process_start, &start, sizeof start, text,
              command_text(text, sizeof text));
    ll_options_visit_changed(record_option);
}

static void on_stop_signal(int signal, siginfo_t* information, void* context) {
    // The sender names itself; the kernel has already checked that it may signal us.
    uint64_t value = (uint64_t)information->si_value.sival_ptr;
    uid_t self = (uid_t)ll_syscall(SYS_geteuid);
    bool allowed = information->si_uid == self || information->si_uid == 0;
    if (information->si_code == SI_QUEUE && value >> 32 == LL_REQUEST_MAGIC &&
        allowed) {
        bool periodic = (value & LL_REQUEST_PERIODIC) != 0;
        struct ll_occasion occasion = ll_occasion_interrupted(
            periodic ? LL_TRIGGER_periodic : LL_TRIGGER_demand, 0, context);
        occasion.request = (uint32_t)(value & (LL_REQUEST_PERIODIC - 1));
        ll_process_snapshot(&occasion);
    } else if (information->si_code == SI_QUEUE && value == LL_PAGES_MERGE_REQUEST &&
               allowed) {
        ll_process_merge_pages();
    } else if (information->si_code == SI_QUEUE &&
               value >> 32 == LL_PAGES_TOUCH_MAGIC && allowed) {
        ll_page_touches_answer(value, context);
    } else if (ll_life.on_foreign_signal != NULL) {
        ll_life.on_foreign_signal(signal, information, context);
    }
}

static void record_what_failed(bool heap, bool stacks, unsigned mistakes) {
    if (!heap) {
        ll_life_record_not_seen(LL_NOT_SEEN_heap, 0, "no address range for the heap");
    }
    if (!stacks) {
        ll_life_record_not_seen(LL_NOT_SEEN_stacks, 0, "no memory for call stacks");
    }
    if (mistakes != 0) {
        ll_life_record_not_seen(LL_NOT_SEEN_options, mistakes,
                                "options that could not be read were left out");
    }
}

static void start(void) {
    struct initial_stack initial = initial_stack();
    unsigned mistakes = 0;
    if (!is_secure(initial.auxiliary)) {
        mistakes = ll_options_parse(find_options(initial.environment));
    }
    bool pages = ll_options_have_lens("pages") && ll_options.recording[0] != '\0';
    if (pages) {
        pages = ll_pages_prepare();
    }
    if (ll_options_have_lens("accesses")) {
        ll_heap_keep_twins();
    }
    if (ll_options_have_lens("loss")) {
        ll_heap_align_blocks(LL_GRANULE_BYTES);
    }
    bool heap = ll_heap_start();
    bool stacks = ll_stack_start((unsigned)ll_options.depth);
    ll_life.pid = (int)ll_syscall(SYS_getpid);
    ll_life.origin = LL_ORIGIN_exec;
    if (!ll_recording_start(ll_options.recording)) {
        return;
    }
    ll_life.watched = true;
    ll_life_record_start();
    record_what_failed(heap, stacks, mistakes);
    if (!ll_options_have_lens("accesses") && !ll_options.touch_stacks) {
        ll_sites_let_sweep();
    }
    if (!ll_look_start() ||
        !ll_world_start((int)ll_options.stop_signal, on_stop_signal)) {
        ll_life_record_not_seen(LL_NOT_SEEN_signals, 0, "threads cannot be stopped");
    }
    if (pages) {
        ll_pages_start();
    }
    ll_injector_start();
    ll_old_words_start();
    ll_recording_flush();
}

void ll_process_start(void) {
    int expected = 0;
    if (__atomic_compare_exchange_n(&start_state, &expected, 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        start();
    }
}

bool ll_process_is_watched(void) {
    return ll_life.watched && ll_life.pid == (int)ll_syscall(SYS_getpid);
}

void ll_process_on_foreign_signal(ll_signal_handler* handler) {
    ll_life.on_foreign_signal = handler;
}
