#include "entry/refining.h"

#include <link.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/text.h"
#include "entry/loaded.h"
#include "entry/sentences.h"
#include "entry/signals.h"
#include "format/records.h"
#include "lens/delays.h"
#include "lens/ordinals.h"
#include "os/lock.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "process/process.h"
#include "process/refine.h"
#include "process/traps.h"
#include "process/watch_list.h"
#include "stack/stack.h"

static struct ll_watch_list list;
static uintptr_t* biases;

static int find_bias(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size;
    (void)unused;
    struct ll_patch_target target = ll_loaded_describe(info);
    for (uint32_t i = 0; i < list.module_count; i++) {
        const struct ll_watch_module* module = &list.modules[i];
        if (module->build_id_length == target.build_id_length &&
            memcmp(module->build_id, target.build_id, target.build_id_length) == 0) {
            biases[i] = target.bias;
        }
    }
    return 0;
}

static bool find_biases(void) {
    size_t bytes = (list.module_count + 1) * sizeof *biases;
    biases = ll_memory_map((bytes + LL_PAGE_SIZE) & -(size_t)LL_PAGE_SIZE);
    if (biases == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < list.module_count; i++) {
        biases[i] = LL_TRAPS_NOT_LOADED;
    }
    dl_iterate_phdr(find_bias, NULL);
    return true;
}

// A process that was started with traps blocked would be killed by one.
static bool traps_are_blocked(void) {
    uint64_t mask = 0;
    ll_syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
    return (mask >> (SIGTRAP - 1) & 1) != 0;
}

static void watch(void) {
    if (!ll_watch_list_read(ll_options.watch, &list)) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "the watch list cannot be read; nothing was refined");
    } else if (traps_are_blocked() || !find_biases() ||
               !ll_refine_start(&list, biases, LL_TRAPS_ORIGINAL_CODE)) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "code cannot be trapped here; nothing was refined");
    } else {
        ll_delays_start();
        ll_signals_take_traps();
    }
}

// Biases as stacks know them: the loader's lock may be held by whoever waits for the
// program's thread that is here.
static bool find_known_biases(void) {
    size_t bytes = (list.module_count + 1) * sizeof *biases;
    biases = ll_memory_map((bytes + LL_PAGE_SIZE) & -(size_t)LL_PAGE_SIZE);
    for (uint32_t i = 0; biases != NULL && i < list.module_count; i++) {
        const struct ll_watch_module* wanted = &list.modules[i];
        biases[i] = LL_TRAPS_NOT_LOADED;
        for (uint32_t id = 1; id <= ll_module_count(); id++) {
            struct ll_module module;
            if (ll_module_get(id, &module) && !module.unloaded &&
                module.build_id_length == wanted->build_id_length &&
                memcmp(module.build_id, wanted->build_id, module.build_id_length) ==
                    0) {
                biases[i] = module.base;
            }
        }
    }
    return biases != NULL;
}

// Every so many allocations it is asked whether a list has come.
enum { ALLOCATIONS_BETWEEN = 64 };
static char later_path[512];
static uint32_t allocations;
static struct ll_lock loading;

static void load_list(void) {
    if (!ll_watch_list_read(later_path, &list) || !find_known_biases() ||
        !ll_refine_start(&list, biases, LL_TRAPS_PATCHED_CODE)) {
        ll_ordinals_follow(NULL, NULL, NULL);
    }
}

static void wait_for_list(uintptr_t block, uint32_t site, uint32_t ordinal) {
    (void)block;
    (void)site;
    (void)ordinal;
    uint32_t number = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    if (number % ALLOCATIONS_BETWEEN == 0 &&
        ll_syscall(SYS_access, later_path, F_OK) == 0 && ll_lock_try(&loading)) {
        // Never dropped: there is one list.
        load_list();
    }
}

static void expect_list(void) {
    size_t length = strlen(ll_options.watch_later);
    if (length + 32 > sizeof later_path || traps_are_blocked()) {
        return;
    }
    memcpy(later_path, ll_options.watch_later, length);
    later_path[length] = '.';
    ll_append_number(later_path + length + 1, (uint64_t)ll_syscall(SYS_getpid));
    ll_refine_expect();
    ll_signals_take_traps();
    ll_ordinals_follow(wait_for_list, NULL, NULL);
}

bool ll_refining_start(void) {
    bool is_second = ll_options.watch[0] != '\0';
    if (!is_second && ll_options.watch_later[0] != '\0' && ll_ordinals_start()) {
        expect_list();
        return true;
    }
    if ((ll_options.ordinals || is_second) && ll_ordinals_start() && is_second) {
        watch();
    }
    return !is_second;
}
