#include "patch/patch.h"

#include <string.h>
#include <sys/mman.h>

#include "os/memory.h"
#include "os/syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { MODULES_MAX = 512, JUMP_LENGTH = 5 };

// A module whose stores run through trampolines.
struct patched {
    struct ll_plan plan; // stays mapped; header NULL when the module is forgotten
    uintptr_t bias;
    uintptr_t text_start;
    size_t text_size;
    uint8_t* unmapped; // one byte per mapping of the plan: 1 where it found no room
    bool is_loaded;    // as far as the census knows
};

static struct patched* modules;
static uint32_t module_count;
static bool clock_is_locked;

// Neighbours in both the file and the address space.
struct run {
    uint32_t first; // number of the mapping
    uint32_t count;
    uintptr_t start;
    size_t size_bytes;
    size_t offset; // in the file
};

static struct run part_of(struct run run, uint32_t skipped, uint32_t count) {
    size_t distance = (size_t)skipped * LL_PAGE_SIZE;
    return (struct run){
        .first = run.first + skipped,
        .count = count,
        .start = run.start + distance,
        .size_bytes = (size_t)count * LL_PAGE_SIZE,
        .offset = run.offset + distance,
    };
}

// Where others have mapped something, only the pages in the way are left out.
static void map_run(struct patched* module, struct run run) {
    long result = ll_syscall(SYS_mmap, run.start, run.size_bytes, PROT_READ | PROT_EXEC,
                             MAP_PRIVATE | MAP_FIXED_NOREPLACE, module->plan.file.file,
                             run.offset);
    if (result == (long)run.start) {
        return;
    }
    if (result >= 0) {
        ll_syscall(SYS_munmap, result, run.size_bytes);
    }
    if (run.count == 1) {
        module->unmapped[run.first] = 1;
        return;
    }
    uint32_t half = run.count / 2;
    map_run(module, part_of(run, 0, half));
    map_run(module, part_of(run, half, run.count - half));
}

// Puts other pages of the plan in place of those that are mapped, when the file is long
// closed: a shared mapping of size 0 can be mapped once more.
static void remap_run(struct patched* module, struct run run) {
    const char* pages = (const char*)module->plan.header + run.offset;
    ll_syscall(SYS_mremap, pages, 0, run.size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
               run.start);
    ll_syscall(SYS_mprotect, run.start, run.size_bytes, PROT_READ | PROT_EXEC);
}

static struct run make_run(const struct patched* module, uint32_t first, uint32_t end) {
    const struct ll_plan_mapping* mapping = &module->plan.mappings[first];
    return (struct run){
        .first = first,
        .count = end - first,
        .start = module->bias + (uintptr_t)mapping->address,
        .size_bytes = (size_t)(end - first) * LL_PAGE_SIZE,
        .offset = ll_plan_page_offset(&module->plan, mapping->page, clock_is_locked),
    };
}

// Does something with all trampolines that are, or should be, mapped.
static void visit_runs(struct patched* module,
                       void (*visit)(struct patched*, struct run)) {
    const struct ll_plan_mapping* mappings = module->plan.mappings;
    uint32_t count = module->plan.header->mapping_count;
    for (uint32_t first = 0; first < count;) {
        uint32_t end = first + 1;
        while (end < count && module->unmapped[end] == module->unmapped[first] &&
               mappings[end].page == mappings[end - 1].page + 1 &&
               mappings[end].address == mappings[end - 1].address + LL_PAGE_SIZE) {
            end++;
        }
        if (!module->unmapped[first]) {
            visit(module, make_run(module, first, end));
        }
        first = end;
    }
}

static bool lies_in(const struct ll_patch_target* target, uintptr_t address,
                    size_t size) {
    return address >= target->text_start && address + size <= target->text_end;
}

// The file on disk may not be what is loaded: every byte is compared before the first
// is changed.
static bool text_matches(const struct patched* module,
                         const struct ll_patch_target* target) {
    for (uint32_t i = 0; i < module->plan.header->patch_count; i++) {
        const struct ll_plan_patch* patch = &module->plan.patches[i];
        uintptr_t address = module->bias + patch->address;
        if (patch->checked > sizeof patch->original || patch->length > patch->checked ||
            patch->jump_at + JUMP_LENGTH > patch->checked ||
            patch->mapping >= module->plan.header->mapping_count ||
            !lies_in(target, address, patch->checked) ||
            memcmp((const void*)address, patch->original, patch->checked) != 0) {
            return false;
        }
    }
    return true;
}

// What a jump of the plan leads to lies in its page, whatever the bytes behind a pun
// have become.
static bool leads_to_its_page(const struct patched* module,
                              const struct ll_plan_patch* patch, const uint8_t* text) {
    uint8_t code[sizeof patch->replacement];
    size_t end = (size_t)patch->jump_at + JUMP_LENGTH;
    size_t own = patch->length < end ? patch->length : end;
    memcpy(code, patch->replacement, own);
    memcpy(code + own, text + own, end - own);
    int32_t distance;
    memcpy(&distance, code + patch->jump_at + 1, sizeof distance);
    uint64_t target = patch->address + end + (uint64_t)(int64_t)distance;
    uint64_t page = (uint64_t)module->plan.mappings[patch->mapping].address;
    return target - page < LL_PAGE_SIZE;
}

static uint32_t write_patches(const struct patched* module) {
    uint32_t applied = 0;
    for (uint32_t i = 0; i < module->plan.header->patch_count; i++) {
        const struct ll_plan_patch* patch = &module->plan.patches[i];
        uint8_t* text = (uint8_t*)(module->bias + patch->address);
        if (!module->unmapped[patch->mapping] &&
            leads_to_its_page(module, patch, text)) {
            memcpy(text, patch->replacement, patch->length);
            applied += patch->is_store;
        }
    }
    return applied;
}

static bool make_modules(void) {
    if (modules == NULL) {
        modules = ll_memory_map(MODULES_MAX * sizeof *modules);
    }
    return modules != NULL;
}

// The first entry nobody uses; NULL when there is none.
static struct patched* new_module(void) {
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

static bool is_module(const struct patched* module,
                      const struct ll_patch_target* target) {
    const struct ll_plan_header* header = module->plan.header;
    return header != NULL && module->bias == target->bias &&
           header->build_id_length == target->build_id_length &&
           memcmp(header->build_id, target->build_id, target->build_id_length) == 0;
}

static struct patched* known_module(const struct ll_patch_target* target) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (is_module(&modules[i], target)) {
            return &modules[i];
        }
    }
    return NULL;
}

static void release(struct patched* module) {
    if (module->unmapped != NULL) {
        ll_memory_unmap(module->unmapped, module->plan.header->mapping_count + 1);
    }
    ll_plan_close(&module->plan);
    *module = (struct patched){0};
}

struct ll_patch_result ll_patch_module(const char* folder,
                                       const struct ll_patch_target* target) {
    struct ll_patch_result result = {.verdict = LL_PLAN_MISSING};
    struct patched* module = known_module(target);
    if (module != NULL) {
        module->is_loaded = true;
        return (struct ll_patch_result){.verdict = LL_PLAN_OK, .is_known = true};
    }
    module = new_module();
    if (module == NULL) {
        return result;
    }
    result.verdict =
        ll_plan_open(folder, target->build_id, target->build_id_length, &module->plan);
    if (result.verdict != LL_PLAN_OK) {
        return result;
    }
    result.stores = module->plan.header->stores;
    module->bias = target->bias;
    module->unmapped = ll_memory_map(module->plan.header->mapping_count + 1);
    size_t text_size = target->text_end - target->text_start;
    module->text_start = target->text_start;
    module->text_size = text_size;
    if (module->unmapped == NULL || !text_matches(module, target)) {
        result.verdict = LL_PLAN_DAMAGED;
        release(module);
        return result;
    }
    // Executable all the while: libc itself is patched, and a signal may come.
    result.refused = (int)-ll_syscall(SYS_mprotect, target->text_start, text_size,
                                      PROT_READ | PROT_WRITE | PROT_EXEC);
    if (result.refused != 0) {
        release(module);
        return result;
    }
    visit_runs(module, map_run);
    // The program must find the descriptors it expects.
    ll_plan_close_file(&module->plan);
    result.applied = write_patches(module);
    result.refused = (int)-ll_syscall(SYS_mprotect, target->text_start, text_size,
                                      PROT_READ | PROT_EXEC);
    module->is_loaded = true;
    return result;
}

static void unmap_all(const struct patched* module) {
    for (uint32_t i = 0; i < module->plan.header->mapping_count; i++) {
        if (!module->unmapped[i]) {
            uintptr_t page = module->bias + (uintptr_t)module->plan.mappings[i].address;
            ll_syscall(SYS_munmap, page, LL_PAGE_SIZE);
        }
    }
}

void ll_patch_begin_census(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        modules[i].is_loaded = false;
    }
}

void ll_patch_end_census(void) {
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL && !modules[i].is_loaded) {
            unmap_all(&modules[i]);
            release(&modules[i]);
        }
    }
}

void ll_patch_lock_clock(void) {
    if (clock_is_locked) {
        return;
    }
    clock_is_locked = true;
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL) {
            visit_runs(&modules[i], remap_run);
        }
    }
}

static bool restore(const struct patched* module) {
    if (ll_syscall(SYS_mprotect, module->text_start, module->text_size,
                   PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < module->plan.header->patch_count; i++) {
        const struct ll_plan_patch* patch = &module->plan.patches[i];
        memcpy((void*)(module->bias + patch->address), patch->original, patch->length);
    }
    return ll_syscall(SYS_mprotect, module->text_start, module->text_size,
                      PROT_READ | PROT_EXEC) == 0;
}

bool ll_patch_undo(void) {
    if (clock_is_locked) {
        return false;
    }
    for (uint32_t i = 0; i < module_count; i++) {
        if (modules[i].plan.header != NULL && !restore(&modules[i])) {
            return false;
        }
    }
    ll_patch_begin_census();
    ll_patch_end_census();
    return true;
}

static bool has_patch_at(const struct patched* module, uint64_t address) {
    const struct ll_plan_patch* patches = module->plan.patches;
    uint32_t low = 0;
    uint32_t high = module->plan.header->patch_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (patches[middle].address == address) {
            return true;
        }
        if (patches[middle].address > address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

uintptr_t ll_patch_store_at(uint32_t lower_half) {
    for (uint32_t i = 0; i < module_count; i++) {
        // Link-time addresses are below 4 GiB in every module that jumps can patch.
        uint32_t address = lower_half - (uint32_t)modules[i].bias;
        if (modules[i].plan.header != NULL && has_patch_at(&modules[i], address)) {
            return modules[i].bias + address;
        }
    }
    return 0;
}
