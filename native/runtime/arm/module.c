#include "arm/module.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "arm/clock.h"
#include "arm/image.h"
#include "arm/stubs.h"
#include "arm/text.h"
#include "arm/turn.h"
#include "arm/wake.h"
#include "os/memory.h"
#include "os/syscall.h"

enum { MODULES_MAX = 512 };

static struct ll_arm_module* modules;
static uint32_t module_count;

static bool is_module(const struct ll_arm_module* module,
                      const struct ll_patch_target* target) {
    const struct ll_arm_header* header = module->plan.header;
    return header != NULL && module->bias == target->bias &&
           header->build_id_length == target->build_id_length &&
           memcmp(header->build_id, target->build_id, target->build_id_length) == 0;
}

static struct ll_arm_module* known_module(const struct ll_patch_target* target) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (is_module(&modules[i], target)) {
            return &modules[i];
        }
    }
    return NULL;
}

// Entries are not used twice: places refer to them for good.
static struct ll_arm_module* new_module(void) {
    if (modules == NULL) {
        modules = ll_memory_map(MODULES_MAX * sizeof *modules);
    }
    if (modules == NULL || module_count == MODULES_MAX) {
        return NULL;
    }
    return &modules[module_count];
}

// One byte per byte of code: 1 where lens `loss` relies on it; NULL when it does
// nowhere.
struct fixed {
    uint8_t* bytes;
    uintptr_t start;
    size_t size;
    bool is_unknown; // there was no memory to keep it
};

static void fix(uintptr_t start, uintptr_t end, void* context) {
    struct fixed* fixed = context;
    if (fixed->bytes == NULL && !fixed->is_unknown) {
        fixed->bytes = ll_memory_map(fixed->size);
        fixed->is_unknown = fixed->bytes == NULL;
    }
    for (; start < end && !fixed->is_unknown; start++) {
        if (start - fixed->start < fixed->size) {
            fixed->bytes[start - fixed->start] = 1;
        }
    }
}

static bool is_fixed(const struct fixed* fixed, uintptr_t address, size_t length) {
    return fixed->is_unknown ||
           (fixed->bytes != NULL &&
            memchr(fixed->bytes + (address - fixed->start), 1, length) != NULL);
}

// Poking passes through bytes that puns do not know, and a breakpoint is deadly where
// libc blocks all signals.
static bool can_be_poked(const struct ll_arm_site* site,
                         const struct ll_patch_target* target) {
    return site->armed_length == LL_ARM_JUMP_LENGTH &&
           (uintptr_t)getauxval - target->text_start >=
               target->text_end - target->text_start;
}

// The code is as the plan knows it, with what the jump reads behind it, and no other
// patch needs what the stub runs. Groups further down are not armed yet.
static bool fits(struct ll_arm_module* module, const struct ll_arm_site* site,
                 const struct ll_patch_target* target, const struct fixed* fixed) {
    uintptr_t word = module->bias + ll_arm_word_at(site);
    uint64_t original = ll_text_original(site);
    uintptr_t address = module->bias + ll_arm_jump_at(site);
    return word >= target->text_start && address + site->length <= target->text_end &&
           address + LL_ARM_JUMP_LENGTH <= target->text_end &&
           memcmp((const void*)address, &original, LL_ARM_JUMP_LENGTH) == 0 &&
           (!ll_arm.is_poked || can_be_poked(site, target)) &&
           !is_fixed(fixed, address, site->length) && ll_stubs_get(module, site);
}

struct arming {
    const struct ll_patch_target* target;
    const struct fixed* fixed;
};

static void arm_fitting(struct ll_arm_module* module, uint32_t number, void* context) {
    const struct arming* arming = context;
    const struct ll_arm_site* site = &module->plan.sites[number];
    if (fits(module, site, arming->target, arming->fixed)) {
        ll_arm_set_fit(module, number);
        ll_text_arm(module, site);
    } else {
        module->unfit_count += site->site_count;
    }
}

static void arm_in_place(struct ll_arm_module* module,
                         const struct ll_patch_target* target) {
    size_t size = target->text_end - target->text_start;
    struct fixed fixed = {.start = target->text_start, .size = size};
    ll_patch_visit_fixed(target->text_start, fix, &fixed);
    struct arming arming = {target, &fixed};
    ll_arm_visit_groups(module, arm_fitting, &arming);
    if (fixed.bytes != NULL) {
        ll_memory_unmap(fixed.bytes, size);
    }
}

// Both the code and the memory behind it stay executable and writable.
static int open_text(const struct ll_patch_target* target) {
    return (int)-ll_syscall(SYS_mprotect, target->text_start,
                            target->text_end - target->text_start,
                            PROT_READ | PROT_WRITE | PROT_EXEC);
}

// False, and nothing is changed, where that is not possible.
static bool arm_lazily(struct ll_arm_module* module,
                       const struct ll_patch_target* target) {
    if (ll_arm.is_poked || module->plan.header->text_page_count == 0 ||
        !ll_stubs_map_lazily(module)) {
        return false;
    }
    if (!ll_image_put(module, target)) {
        ll_stubs_let_lazy_go(module);
        return false;
    }
    // Its table follows the others. From now on pages are given back.
    module->written = module->rooms + module->plan.header->mapping_count + 1;
    ll_wake_eager(module);
    return true;
}

// Returns an errno when the system forbids it, else 0.
static int arm_all(struct ll_arm_module* module, const struct ll_patch_target* target) {
    if (arm_lazily(module, target)) {
        return 0;
    }
    int refused = open_text(target);
    if (refused == 0) {
        ll_stubs_map_all(module);
        arm_in_place(module, target);
    }
    return refused;
}

// One behind the other: those of most libraries fit into one page together.
static bool make_tables(struct ll_arm_module* module) {
    const struct ll_arm_header* header = module->plan.header;
    size_t rows = (header->site_count / LL_ARM_ROW + 1) * sizeof *module->row_of;
    size_t fit = header->site_count / 8 + 1;
    size_t awake = header->part_count / 8 + 1;
    size_t rooms = (size_t)header->mapping_count + 1;
    size_t written = header->text_page_count / 8 + 1;
    uint8_t* tables = ll_memory_map(rows + fit + awake + rooms + written);
    if (tables == NULL) {
        return false;
    }
    module->row_of = (uint32_t*)tables;
    module->fit = tables + rows;
    module->awake = module->fit + fit;
    module->rooms = module->awake + awake;
    return true;
}

static void prepare(struct ll_arm_module* module, const struct ll_patch_target* target,
                    uintptr_t twin_distance) {
    module->range = &ll_range;
    module->tick = &ll_touch_tick;
    module->turn = ll_arm_turn;
    module->twin_distance = twin_distance;
    module->bias = target->bias;
    module->records = ll_arm.records;
    module->rows = ll_arm.rows;
    module->wake = ll_wake_part;
}

struct ll_arm_result ll_arm_module(const char* folder,
                                   const struct ll_patch_target* target,
                                   uintptr_t twin_distance) {
    struct ll_arm_result result = {.verdict = LL_PLAN_MISSING};
    struct ll_arm_module* module = known_module(target);
    if (module != NULL) {
        module->is_loaded = true;
        return (struct ll_arm_result){.verdict = LL_PLAN_OK, .is_known = true};
    }
    module = new_module();
    if (module == NULL) {
        return result;
    }
    result.verdict = ll_arm_plan_open(folder, target->build_id, target->build_id_length,
                                      &module->plan);
    if (result.verdict != LL_PLAN_OK) {
        return result;
    }
    module_count++;
    result.sites = module->plan.header->sites_seen;
    prepare(module, target, twin_distance);
    if (!make_tables(module) || !ll_stubs_start(module)) {
        // What was mapped stays: this happens once, and nothing jumps there.
        ll_arm_plan_close(&module->plan);
        return result;
    }
    result.refused = arm_all(module, target);
    // The program must find the descriptors it expects.
    ll_plan_file_close_descriptor(&module->plan.file);
    if (result.refused != 0) {
        ll_arm_plan_close(&module->plan);
        return result;
    }
    module->told_count = module->unfit_count;
    result.armable = module->plan.header->site_count - module->unfit_count;
    ll_arm_plan_let_go(&module->plan);
    module->is_loaded = true;
    return result;
}

static void let_table_go(struct ll_arm_module* module, void* unused) {
    (void)unused;
    if (__atomic_exchange_n(&module->reads, 0, __ATOMIC_RELAXED) != 0) {
        ll_stubs_let_entries_go(module);
        ll_arm_plan_let_go(&module->plan);
    }
}

void ll_arm_let_tables_go(void) {
    ll_arm_visit_modules(let_table_go, NULL);
}

static void let_text_go(struct ll_arm_module* module, void* unused) {
    (void)unused;
    ll_image_let_go(module);
}

void ll_arm_let_text_go(void) {
    if (ll_wake_try_hold()) {
        ll_arm_visit_modules(let_text_go, NULL);
        ll_wake_let_go();
    }
}

struct stretch {
    uintptr_t start;
    uintptr_t end;
    bool is_text;
};

static void leave_text(struct ll_arm_module* module, void* context) {
    struct stretch* stretch = context;
    stretch->is_text |= ll_image_will_be_written(module, stretch->start, stretch->end);
}

bool ll_arm_leave_text(uintptr_t start, uintptr_t end) {
    struct stretch stretch = {start, end, false};
    ll_arm_visit_modules(leave_text, &stretch);
    return stretch.is_text;
}

static void tell_unfit(struct ll_arm_module* module, void* context) {
    uint32_t* count = context;
    *count += module->unfit_count - module->told_count;
    module->told_count = module->unfit_count;
}

uint32_t ll_arm_tell_unfit(void) {
    uint32_t count = 0;
    ll_arm_visit_modules(tell_unfit, &count);
    return count;
}

static void disarm(struct ll_arm_module* module, void* unused) {
    (void)unused;
    ll_wake_forget_entries(module);
    const struct ll_arm_site* sites = module->plan.sites;
    uint32_t count = module->plan.header->site_count;
    for (uint32_t i = 0; i < count; i += sites[i].site_count) {
        if (ll_arm_is_fit(module, i)) {
            ll_text_disarm(module, &sites[i]);
        }
    }
}

void ll_arm_disarm_all(void) {
    ll_arm_visit_modules(disarm, NULL);
}

static void forget(struct ll_arm_module* module) {
    ll_stubs_unmap(module);
    ll_arm_plan_close(&module->plan);
}

void ll_arm_begin_census(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        modules[i].is_loaded = false;
    }
}

void ll_arm_end_census(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL && !modules[i].is_loaded) {
            forget(&modules[i]);
        }
    }
}

void ll_arm_visit_modules(void (*visit)(struct ll_arm_module* module, void* context),
                          void* context) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL) {
            visit(&modules[i], context);
        }
    }
}
