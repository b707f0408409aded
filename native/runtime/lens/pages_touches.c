#include "lens/pages_touches.h"

#include <sys/mman.h>
#include <time.h>

#include "base/options.h"
#include "format/records.h"
#include "heap/arena.h"
#include "heap/page_states.h"
#include "lens/pages_state.h"
#include "lens/pages_touch_stacks.h"
#include "os/companion.h"
#include "os/file.h"
#include "os/syscall.h"
#include "os/tasks.h"
#include "record/recording.h"

static uint32_t state; // LL_TOUCH_STACKS_*, 0: not asked for
static struct ll_faults faults;
static uint64_t served;       // faults let go so far
static struct ll_arena nodes; // of the last touch, by page
static uint64_t wait_ns;      // what a touch waits without its stack being taken
static struct ll_record_touch_stacks counts;

static uint64_t now_ns(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static size_t page_index(uintptr_t address) {
    return (address - ll_page_states.start) >> LL_PAGE_SHIFT;
}

static bool is_of_heap(uintptr_t page) {
    return page >= ll_page_states.start &&
           page_index(page) < __atomic_load_n(&ll_page_states.count, __ATOMIC_ACQUIRE);
}

// True when the touch ended a watch. What a look touches, it takes out again.
static bool ends_watch(const struct ll_fault* fault) {
    if (!is_of_heap(fault->page) ||
        fault->tid == __atomic_load_n(&ll_pages.looker, __ATOMIC_ACQUIRE)) {
        return false;
    }
    uint64_t* page = ll_page_state(fault->page);
    uint64_t before = __atomic_load_n(page, __ATOMIC_RELAXED);
    if ((before & LL_PAGE_TIME) == LL_PAGE_ACTIVE) {
        return false;
    }
    __atomic_store_n(page, LL_PAGE_SEEN | LL_PAGE_REST, __ATOMIC_SEQ_CST);
    return (before & LL_PAGE_TIME) >= LL_PAGE_FIRST;
}

static void note(uintptr_t page, uint32_t node) {
    size_t needed = (page_index(page) + 1) * sizeof node;
    if (needed > nodes.used_bytes &&
        ll_arena_take(&nodes, needed - nodes.used_bytes) == NULL) {
        return;
    }
    __atomic_store_n((uint32_t*)nodes.start + page_index(page), node, __ATOMIC_RELAXED);
}

// The controller goes by what touches have cost of late.
static void account(uint64_t spent_ns, uint32_t node) {
    enum { WEIGHT = 8 };
    static uint64_t usual_ns;
    usual_ns = usual_ns == 0 ? spent_ns : (usual_ns * (WEIGHT - 1) + spent_ns) / WEIGHT;
    __atomic_store_n(&ll_pages.watch.touch_ns, wait_ns + usual_ns, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ll_pages.watch.touches, 1, __ATOMIC_RELAXED);
    counts.told += node != 0;
    counts.unknown += node == 0;
    if (spent_ns > counts.longest_ns) {
        counts.longest_ns = spent_ns;
    }
}

static void serve_one(const struct ll_fault* fault) {
    uint64_t began_ns = now_ns();
    if (ends_watch(fault)) {
        uint32_t node = ll_touch_stack_of(fault->tid);
        note(fault->page, node);
        account(now_ns() - began_ns, node);
    }
    __atomic_add_fetch(&served, 1, __ATOMIC_SEQ_CST);
    ll_faults_let_go(&faults, fault->page);
}

// The task of the assistant. It takes no lock that somebody could hold who waits for a
// page.
static void serve(void) {
    enum { AT_ONCE = 16 };
    struct ll_fault told[AT_ONCE];
    int count;
    while ((count = ll_faults_await(&faults, told, AT_ONCE)) >= 0) {
        for (int i = 0; i < count; i++) {
            serve_one(&told[i]);
        }
    }
}

// One touch by code and one by a system call, of a page that holds a one.
static bool both_touches_are_served(int file, volatile char* page) {
    char* target = (char*)page;
    uint64_t began_ns = now_ns();
    bool is_kept = *page == 1;
    wait_ns = now_ns() - began_ns;
    bool by_code = is_kept && __atomic_load_n(&served, __ATOMIC_SEQ_CST) == 1;
    return by_code && ll_presence_drop((uintptr_t)target, LL_PAGE_SIZE) &&
           ll_syscall(SYS_pread64, file, target, 1, 0) == 1 &&
           __atomic_load_n(&served, __ATOMIC_SEQ_CST) == 2 && *page == 1;
}

static bool works_on(int file) {
    long page = ll_syscall(SYS_mmap, NULL, LL_PAGE_SIZE, PROT_READ | PROT_WRITE,
                           MAP_SHARED, file, 0);
    if (page <= 0) {
        return false;
    }
    *(volatile char*)page = 1;
    __atomic_store_n(&served, 0, __ATOMIC_SEQ_CST);
    bool works = ll_faults_register(&faults, (uintptr_t)page, LL_PAGE_SIZE) &&
                 ll_presence_drop((uintptr_t)page, LL_PAGE_SIZE) &&
                 both_touches_are_served(file, (volatile char*)page);
    ll_memory_unmap((void*)page, LL_PAGE_SIZE);
    return works;
}

static bool trial_works(void) {
    long file = ll_syscall(SYS_memfd_create, "leakline-trial", MFD_CLOEXEC);
    if (file < 0) {
        return false;
    }
    bool works =
        ll_syscall(SYS_ftruncate, file, LL_PAGE_SIZE) == 0 && works_on((int)file);
    ll_file_close((int)file);
    return works;
}

static bool make_table(void) {
    size_t pages = (size_t)1 << (LL_RANGE_SHIFT - LL_PAGE_SHIFT);
    return nodes.start != NULL || ll_arena_start(&nodes, pages * sizeof(uint32_t));
}

static uint32_t begin(void) {
    if (!ll_task_tells(ll_companion_owner()) || !ll_faults_open_told(&faults)) {
        return LL_TOUCH_STACKS_refused;
    }
    if (!make_table() || !ll_assistant_start(serve) || !trial_works()) {
        ll_assistant_stop();
        ll_faults_close(&faults);
        return LL_TOUCH_STACKS_failed;
    }
    return LL_TOUCH_STACKS_active;
}

void ll_page_touches_start(struct ll_presence* presence) {
    if (!ll_options.touch_stacks) {
        return;
    }
    faults = LL_NO_FAULTS;
    state = begin();
    if (state == LL_TOUCH_STACKS_active) {
        presence->faults = faults;
    }
}

bool ll_page_touches_have_ended(struct ll_presence* presence) {
    if (state != LL_TOUCH_STACKS_active || ll_assistant_is_alive()) {
        return false;
    }
    state = LL_TOUCH_STACKS_ended;
    ll_faults_close(&presence->faults);
    return true;
}

void ll_page_touches_answer(uint64_t value, const void* signal_context) {
    ll_touch_stack_answer((uint32_t)value, signal_context);
}

uint32_t ll_page_touches_last(uintptr_t address) {
    size_t at = page_index(address) * sizeof(uint32_t);
    return at < nodes.used_bytes
               ? __atomic_load_n((uint32_t*)nodes.start + page_index(address),
                                 __ATOMIC_RELAXED)
               : 0;
}

void ll_page_touches_write(void) {
    if (ll_options.touch_stacks) {
        struct ll_record_touch_stacks record = counts;
        record.state = state;
        ll_record(LL_RECORD_touch_stacks, &record, sizeof record, NULL, 0);
    }
}
