#include "patch/patch.h"

#include <string.h>

#include "os/memory.h"
#include "patch/hooks.h"
#include "patch/module.h"

enum { MODULES_MAX = 512 };

static struct ll_patched* modules;
static uint32_t module_count;
static bool clock_is_locked;

static bool make_modules(void) {
    if (modules == NULL) {
        modules = ll_memory_map(MODULES_MAX * sizeof *modules);
    }
    return modules != NULL;
}

// The first entry nobody uses; NULL when there is none.
static struct ll_patched* new_module(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header == NULL) {
            return &modules[i];
        }
    }
    if (!make_modules() || module_count == MODULES_MAX) {
        return NULL;
    }
    return &modules[module_count++];
}

static bool is_module(const struct ll_patched* module,
                      const struct ll_patch_target* target) {
    const struct ll_plan_header* header = module->plan.header;
    return header != NULL && module->bias == target->bias &&
           header->build_id_length == target->build_id_length &&
           memcmp(header->build_id, target->build_id, target->build_id_length) == 0;
}

static struct ll_patched* known_module(const struct ll_patch_target* target) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (is_module(&modules[i], target)) {
            return &modules[i];
        }
    }
    return NULL;
}

static void release(struct ll_patched* module) {
    if (module->rooms != NULL) {
        ll_memory_unmap(module->rooms, module->plan.header->mapping_count + 1);
    }
    ll_plan_close(&module->plan);
    *module = (struct ll_patched){0};
}

// A new entry with the plan of a module that fits its text; NULL when there is none,
// for the reason in `verdict`.
static struct ll_patched* open_module(const char* folder,
                                      const struct ll_patch_target* target,
                                      enum ll_plan_verdict* verdict) {
    struct ll_patched* module = new_module();
    *verdict = module == NULL ? LL_PLAN_MISSING
                              : ll_plan_open(folder, target->build_id,
                                             target->build_id_length, &module->plan);
    if (*verdict != LL_PLAN_OK) {
        return NULL;
    }
    module->bias = target->bias;
    module->text_start = target->text_start;
    module->text_size = target->text_end - target->text_start;
    module->is_loaded = true;
    module->rooms = ll_memory_map(module->plan.header->mapping_count + 1);
    if (module->rooms == NULL || !ll_text_is_original(module)) {
        *verdict = LL_PLAN_DAMAGED;
        release(module);
        return NULL;
    }
    return module;
}

// Maps trampolines and text; the entry is released when nothing came of it.
static void apply(struct ll_patched* module, struct ll_patch_result* result) {
    result->stores = module->plan.header->stores;
    ll_room_take(module);
    result->applied = ll_text_patch(module, &result->refused);
    module->is_patched = true;
    // The program must find the descriptors it expects.
    ll_plan_close_file(&module->plan);
    if (result->refused != 0) {
        ll_room_give_back(module);
        release(module);
    }
}

void ll_patch_reserve(const char* folder, const struct ll_patch_target* target) {
    struct ll_patched* module = known_module(target);
    enum ll_plan_verdict verdict;
    if (module == NULL) {
        module = open_module(folder, target, &verdict);
        if (module != NULL) {
            ll_room_take_dense(module);
        }
    }
}

struct ll_patch_result ll_patch_module(const char* folder,
                                       const struct ll_patch_target* target) {
    struct ll_patch_result result = {.verdict = LL_PLAN_OK};
    struct ll_patched* module = known_module(target);
    if (module != NULL && module->is_patched) {
        module->is_loaded = true;
        result.is_known = true;
        return result;
    }
    if (module == NULL) {
        module = open_module(folder, target, &result.verdict);
    }
    if (module != NULL) {
        apply(module, &result);
    }
    return result;
}

void ll_patch_begin_census(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        modules[i].is_loaded = false;
    }
}

void ll_patch_end_census(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL && !modules[i].is_loaded) {
            ll_room_give_back(&modules[i]);
            release(&modules[i]);
        }
    }
}

void ll_patch_lock_clock(void) {
    if (!clock_is_locked) {
        clock_is_locked = true;
        ll_hooks_lock_clock();
    }
}

bool ll_patch_can_be_undone(void) {
    return !clock_is_locked;
}

bool ll_patch_undo(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL && !ll_text_restore(&modules[i])) {
            return false;
        }
    }
    ll_patch_begin_census();
    ll_patch_end_census();
    return true;
}

// The store that a place of the module stands for; 0 when there is none.
static uint32_t store_at(const struct ll_patched* module, uint32_t place) {
    const struct ll_plan_site* sites = module->plan.sites;
    uint32_t low = 0;
    uint32_t high = module->plan.header->site_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sites[middle].place == place) {
            return sites[middle].store;
        }
        if (sites[middle].place < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

uintptr_t ll_patch_store_at(uint32_t place) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL) {
            uint32_t store = store_at(&modules[i], place - (uint32_t)modules[i].bias);
            if (store != 0) {
                return modules[i].bias + store;
            }
        }
    }
    return 0;
}

void ll_patch_visit_fixed(uintptr_t text_start,
                          void (*visit)(uintptr_t start, uintptr_t end, void* context),
                          void* context) {
    for (uint32_t i = 0; i < module_count; i++) {
        const struct ll_plan* plan = &modules[i].plan;
        if (plan->header == NULL || modules[i].text_start != text_start) {
            continue;
        }
        for (uint32_t k = 0; k < plan->header->patch_count; k++) {
            const struct ll_plan_patch* patch = &plan->patches[k];
            uintptr_t start = modules[i].bias + patch->address;
            uintptr_t jump = ll_text_jump_of(&modules[i], patch);
            visit(start, start + patch->length, context);
            visit(jump, jump + LL_JUMP_LENGTH, context);
        }
    }
}
