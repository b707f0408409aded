#include "arm/stubs.h"

#include <string.h>
#include <sys/mman.h>

#include "arm/note.h"
#include "os/memory.h"
#include "os/syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// A process may have 65,530 mappings; most are left to the program.
enum { MAPPINGS_MAX = 30000 };
static uint32_t mappings_used;

static bool map_exactly(uintptr_t start, size_t size_bytes, int protection, int flags,
                        int file, size_t offset) {
    long result = ll_syscall(SYS_mmap, start, size_bytes, protection,
                             MAP_PRIVATE | MAP_FIXED_NOREPLACE | flags, file, offset);
    if (result == (long)start) {
        return true;
    }
    if (result > 0) {
        ll_syscall(SYS_munmap, result, size_bytes);
    }
    return false;
}

// push rcx; mov rcx, module; jmp [rip]; the address of ll_arm_note follows.
static void write_gate(uint8_t* gate, const struct ll_arm_module* module) {
    static const uint8_t load[] = {0x51, 0x48, 0xb9};
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    void (*note)(void) = ll_arm_note;
    memcpy(gate, load, sizeof load);
    memcpy(gate + sizeof load, &module, sizeof module);
    gate += sizeof load + sizeof module;
    memcpy(gate, jump, sizeof jump);
    memcpy(gate + sizeof jump, &note, sizeof note);
}

static bool map_gate(const struct ll_arm_module* module, int64_t address) {
    uintptr_t page = module->bias + (uintptr_t)address;
    if (address == 0) {
        return true;
    }
    if (!map_exactly(page, LL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1,
                     0)) {
        return false;
    }
    write_gate((uint8_t*)page, module);
    return ll_syscall(SYS_mprotect, page, LL_PAGE_SIZE, PROT_READ | PROT_EXEC) == 0;
}

// Neighbours in both the file and the address space are mapped together; where others
// have mapped something, page by page.
static void map_pages(struct ll_arm_module* module, uint32_t first, uint32_t end) {
    const struct ll_arm_mapping* mapping = &module->plan.mappings[first];
    size_t offset = (1 + (size_t)mapping->page) * LL_PAGE_SIZE;
    mappings_used++;
    if (mappings_used <= MAPPINGS_MAX &&
        map_exactly(module->bias + (uintptr_t)mapping->address,
                    (size_t)(end - first) * LL_PAGE_SIZE, PROT_READ | PROT_EXEC, 0,
                    module->plan.file.file, offset)) {
        return;
    }
    mappings_used--;
    if (end - first == 1) {
        module->unmapped[first] = 1;
        module->lacks_room = true;
        return;
    }
    uint32_t middle = first + (end - first) / 2;
    map_pages(module, first, middle);
    map_pages(module, middle, end);
}

static uint32_t end_of_run(const struct ll_arm_plan* plan, uint32_t first) {
    const struct ll_arm_mapping* mappings = plan->mappings;
    uint32_t end = first + 1;
    while (end < plan->header->mapping_count &&
           mappings[end].page == mappings[end - 1].page + 1 &&
           mappings[end].address == mappings[end - 1].address + LL_PAGE_SIZE) {
        end++;
    }
    return end;
}

bool ll_stubs_map(struct ll_arm_module* module) {
    uint32_t count = module->plan.header->mapping_count;
    module->unmapped = ll_memory_map(count + 1);
    if (module->unmapped == NULL || !map_gate(module, module->plan.header->gates[0]) ||
        !map_gate(module, module->plan.header->gates[1])) {
        return false;
    }
    for (uint32_t first = 0; first < count;) {
        uint32_t end = end_of_run(&module->plan, first);
        map_pages(module, first, end);
        first = end;
    }
    return true;
}

void ll_stubs_unmap(struct ll_arm_module* module) {
    for (uint32_t i = 0; i < module->plan.header->mapping_count; i++) {
        if (!module->unmapped[i]) {
            uintptr_t page = module->bias + (uintptr_t)module->plan.mappings[i].address;
            ll_syscall(SYS_munmap, page, LL_PAGE_SIZE);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (module->plan.header->gates[i] != 0) {
            uintptr_t page = module->bias + (uintptr_t)module->plan.header->gates[i];
            ll_syscall(SYS_munmap, page, LL_PAGE_SIZE);
        }
    }
    ll_memory_unmap(module->unmapped, module->plan.header->mapping_count + 1);
}

bool ll_stubs_are_mapped(const struct ll_arm_module* module,
                         const struct ll_arm_site* site) {
    for (uint32_t i = 0; i < site->page_count; i++) {
        uint32_t mapping = module->plan.stub_pages[site->stub_pages_at + i];
        if (module->unmapped[mapping]) {
            return false;
        }
    }
    return true;
}

// Pages to be given back, by hash; 0: none. Most sites share theirs with others, and
// one call for all of them will do.
enum { WAITING_MAX = 512 };
static uintptr_t waiting[WAITING_MAX];

static void give_back(uintptr_t* page) {
    if (*page != 0) {
        ll_syscall(SYS_madvise, *page, LL_PAGE_SIZE, MADV_DONTNEED);
        *page = 0;
    }
}

static uintptr_t stub_page_of(const struct ll_arm_place* place) {
    const struct ll_arm_site* site = &place->site;
    uintptr_t jump_end =
        place->module->bias + ll_arm_jump_at(site) + LL_ARM_JUMP_LENGTH;
    return (jump_end + (uintptr_t)(intptr_t)site->distance) & -(uintptr_t)LL_PAGE_SIZE;
}

void ll_stub_let_go(const struct ll_arm_place* place) {
    if (place->site.site_count == 0) {
        return; // the first of its group jumps
    }
    uintptr_t page = stub_page_of(place);
    // Those of one site differ in high bits only.
    uint64_t hash = page / LL_PAGE_SIZE * 0x9e3779b97f4a7c15U;
    uintptr_t* found = &waiting[hash >> 32 & (WAITING_MAX - 1)];
    if (*found != page) {
        give_back(found);
        *found = page;
    }
}

void ll_stubs_give_back(void) {
    for (unsigned i = 0; i < WAITING_MAX; i++) {
        give_back(&waiting[i]);
    }
}
