// The patched text is mapped from the plan over the module's own: nothing is copied,
// processes share it, and it is never writable. Only where trampolines found no room
// are single instructions written back, in private copies of their pages.
#include <string.h>
#include <sys/mman.h>

#include "os/memory.h"
#include "os/syscall.h"
#include "patch/module.h"

enum { JUMP = 0xe9, SHORT_JUMP = 0xeb, SHORT_JUMP_LENGTH = 2 };

static bool lies_in_text(const struct ll_patched* module, uintptr_t address,
                         size_t size) {
    uintptr_t offset = address - module->text_start;
    return offset <= module->text_size && size <= module->text_size - offset;
}

bool ll_text_is_original(const struct ll_patched* module) {
    const struct ll_plan_header* header = module->plan.header;
    struct ll_text_sum sum = {0};
    for (uint32_t i = 0; i < header->run_count; i++) {
        const struct ll_plan_run* run = &module->plan.runs[i];
        uintptr_t start = module->bias + run->address;
        size_t size = (size_t)run->count * LL_PAGE_SIZE;
        if (start % LL_PAGE_SIZE != 0 || !lies_in_text(module, start, size)) {
            return false;
        }
        ll_text_sum_add(&sum, start, size);
    }
    return sum.words == header->text_sum.words &&
           sum.prefixes == header->text_sum.prefixes;
}

static int protect(const struct ll_patched* module, int protection) {
    return (int)-ll_syscall(SYS_mprotect, module->text_start, module->text_size,
                            protection);
}

static int map_run(const struct ll_patched* module, const struct ll_plan_run* run) {
    long result = ll_syscall(SYS_mmap, module->bias + run->address,
                             (size_t)run->count * LL_PAGE_SIZE, PROT_READ | PROT_EXEC,
                             MAP_PRIVATE | MAP_FIXED, module->plan.file.file,
                             ll_plan_text_offset(run->page));
    return result < 0 ? (int)-result : 0;
}

uintptr_t ll_text_jump_of(const struct ll_patched* module,
                          const struct ll_plan_patch* patch) {
    uintptr_t at = module->bias + patch->address + patch->jump_at;
    const uint8_t* text = (const uint8_t*)at;
    return text[0] == SHORT_JUMP ? at + SHORT_JUMP_LENGTH + text[1] : at;
}

// Whether a jump leads where it should, whatever the bytes it relies on have become.
static bool leads_to_its_page(const struct ll_patched* module,
                              const struct ll_plan_patch* patch) {
    uintptr_t jump = ll_text_jump_of(module, patch);
    if (!lies_in_text(module, jump, LL_JUMP_LENGTH) || *(const uint8_t*)jump != JUMP) {
        return false;
    }
    int32_t distance;
    memcpy(&distance, (const uint8_t*)jump + 1, sizeof distance);
    uint64_t target =
        jump - module->bias + LL_JUMP_LENGTH + (uint64_t)(int64_t)distance;
    uint64_t page = (uint64_t)module->plan.mappings[patch->mapping].address;
    return target - page < LL_PAGE_SIZE;
}

// By an instruction: libc's own functions may be about to lead nowhere.
static void copy(void* to, const void* from, size_t size_bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_bytes) : : "memory");
}

static bool write_back(const struct ll_patched* module,
                       const struct ll_plan_patch* patch) {
    uintptr_t address = module->bias + patch->address;
    bool fits = patch->length <= sizeof patch->original &&
                lies_in_text(module, address, patch->length);
    if (fits) {
        copy((void*)address, patch->original, patch->length);
    }
    return fits;
}

// Which stretches of the text have been written back: only patches that rely on one of
// them have to be looked at again. To read the text at all of them would bring all of
// it into memory. Without a table, for want of memory, anything may have changed.
struct changes {
    uint8_t* stretches;
    size_t count;
};

// No patch relies on anything so far behind its start.
enum { STRETCH_BYTES = 512 };

static struct changes no_changes(const struct ll_patched* module) {
    size_t count = module->text_size / STRETCH_BYTES + 2;
    return (struct changes){.stretches = ll_memory_map(count), .count = count};
}

static void add_change(const struct changes* changes, size_t offset, size_t size) {
    if (changes->stretches != NULL && size > 0) {
        changes->stretches[offset / STRETCH_BYTES] = 1;
        changes->stretches[(offset + size - 1) / STRETCH_BYTES] = 1;
    }
}

static bool may_rely_on(const struct changes* changes, size_t offset) {
    size_t first = offset / STRETCH_BYTES;
    return changes->stretches == NULL || changes->stretches[first] != 0 ||
           changes->stretches[first + 1] != 0;
}

static bool is_mapped(const struct ll_patched* module, uint32_t mapping) {
    return mapping < module->plan.header->mapping_count &&
           module->rooms[mapping] == LL_ROOM_TAKEN;
}

static bool has_room(const struct ll_patched* module,
                     const struct ll_plan_patch* patch) {
    return is_mapped(module, patch->mapping) && is_mapped(module, patch->lost_mapping);
}

// A patch depends only on those before it in the plan: one pass finds all that lead
// nowhere. Returns the stores that remain.
static uint32_t write_back_unusable(const struct ll_patched* module) {
    struct changes changes = no_changes(module);
    uint32_t usable = 0;
    for (uint32_t i = 0; i < module->plan.header->patch_count; i++) {
        const struct ll_plan_patch* patch = &module->plan.patches[i];
        size_t offset = module->bias + patch->address - module->text_start;
        if (!lies_in_text(module, module->text_start + offset,
                          patch->jump_at + LL_JUMP_LENGTH)) {
            continue;
        }
        if (has_room(module, patch) &&
            (!may_rely_on(&changes, offset) || leads_to_its_page(module, patch))) {
            usable += patch->stores;
        } else if (write_back(module, patch)) {
            add_change(&changes, offset, patch->length);
        }
    }
    if (changes.stretches != NULL) {
        ll_memory_unmap(changes.stretches, changes.count);
    }
    return usable;
}

uint32_t ll_text_patch(struct ll_patched* module, int* refused) {
    const struct ll_plan_header* header = module->plan.header;
    // Executable all the while: libc itself is patched, and a signal may come.
    int writable = PROT_READ | PROT_WRITE | PROT_EXEC;
    *refused = module->lacks_room ? protect(module, writable) : 0;
    if (*refused == 0 && header->run_count > 0) {
        *refused = map_run(module, &module->plan.runs[0]);
    }
    uint32_t seen = *refused == 0 ? header->stores - header->left_out : 0;
    if (*refused == 0 && module->lacks_room) {
        protect(module, writable);
        seen = write_back_unusable(module);
    }
    if (module->lacks_room) {
        protect(module, PROT_READ | PROT_EXEC);
    }
    return seen;
}

bool ll_text_restore(const struct ll_patched* module) {
    if (protect(module, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < module->plan.header->patch_count; i++) {
        write_back(module, &module->plan.patches[i]);
    }
    return protect(module, PROT_READ | PROT_EXEC) == 0;
}
