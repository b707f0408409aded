#include "entry/refining.h"

#include <link.h>
#include <signal.h>
#include <string.h>

#include "base/options.h"
#include "entry/loaded.h"
#include "entry/signals.h"
#include "format/records.h"
#include "lens/ordinals.h"
#include "os/memory.h"
#include "process/process.h"
#include "process/refine.h"
#include "process/traps.h"
#include "process/watch_list.h"

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

static void watch(void) {
    if (!ll_watch_list_read(ll_options.watch, &list)) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "the watch list cannot be read; nothing was refined");
    } else if (!find_biases() || !ll_refine_start(&list, biases)) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "code cannot be trapped here; nothing was refined");
    } else {
        ll_signals_take_traps();
    }
}

bool ll_refining_start(void) {
    bool is_second = ll_options.watch[0] != '\0';
    if ((ll_options.ordinals || is_second) && ll_ordinals_start() && is_second) {
        watch();
    }
    return !is_second;
}
