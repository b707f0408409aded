#include "arm/stubs.h"

#include <string.h>
#include <sys/mman.h>

#include "arm/enter.h"
#include "arm/note.h"
#include "base/attributes.h"
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

// The first code pages of a file.
static bool map_shared(uintptr_t start, size_t size_bytes, int file) {
    return ll_syscall(SYS_mmap, start, size_bytes, PROT_READ | PROT_EXEC,
                      MAP_SHARED | MAP_FIXED_NOREPLACE, file,
                      LL_PAGE_SIZE) == (long)start;
}

// push rcx; mov rcx, module; jmp [rip]; the target's address follows.
static void write_gate(uint8_t* gate, const struct ll_arm_module* module,
                       void (*target)(void)) {
    static const uint8_t load[] = {0x51, 0x48, 0xb9};
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    memcpy(gate, load, sizeof load);
    memcpy(gate + sizeof load, &module, sizeof module);
    gate += sizeof load + sizeof module;
    memcpy(gate, jump, sizeof jump);
    memcpy(gate + sizeof jump, &target, sizeof target);
}

static bool map_gate(const struct ll_arm_module* module, int64_t address) {
    enum { ENTRY_GATE = 64 }; // offset
    uintptr_t page = module->bias + (uintptr_t)address;
    if (address == 0) {
        return true;
    }
    if (!map_exactly(page, LL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1,
                     0)) {
        return false;
    }
    write_gate((uint8_t*)page, module, ll_arm_note);
    write_gate((uint8_t*)page + ENTRY_GATE, module, ll_arm_enter);
    return ll_syscall(SYS_mprotect, page, LL_PAGE_SIZE, PROT_READ | PROT_EXEC) == 0;
}

bool ll_stubs_start(struct ll_arm_module* module) {
    return map_gate(module, module->plan.header->gates[0]) &&
           map_gate(module, module->plan.header->gates[1]);
}

static bool map_entries(const struct ll_arm_module* module) {
    const struct ll_arm_header* header = module->plan.header;
    size_t pages_before = 1 + (size_t)header->page_count + header->text_page_count;
    return header->entry_page_count == 0 ||
           map_exactly(module->bias + (uintptr_t)header->entry_stubs_address,
                       (size_t)header->entry_page_count * LL_PAGE_SIZE,
                       PROT_READ | PROT_EXEC, 0, module->plan.file.file,
                       pages_before * LL_PAGE_SIZE);
}

static void unmap_entries(const struct ll_arm_module* module) {
    const struct ll_arm_header* header = module->plan.header;
    ll_syscall(SYS_munmap, module->bias + (uintptr_t)header->entry_stubs_address,
               (size_t)header->entry_page_count * LL_PAGE_SIZE);
}

static size_t code_bytes(const struct ll_arm_module* module) {
    return (size_t)module->plan.header->page_count * LL_PAGE_SIZE;
}

// Only shared mappings can be mapped once more when their file is closed; nobody
// writes to them.
static bool map_code_pages(struct ll_arm_module* module) {
    if (code_bytes(module) == 0) {
        return true;
    }
    void* wanted = ll_memory_reserve(NULL, code_bytes(module));
    if (wanted == NULL ||
        !map_shared((uintptr_t)wanted, code_bytes(module), module->plan.file.file)) {
        return false;
    }
    module->code_pages = wanted;
    return true;
}

bool ll_stubs_map_lazily(struct ll_arm_module* module) {
    if (!map_entries(module)) {
        return false;
    }
    if (!map_code_pages(module)) {
        unmap_entries(module);
        return false;
    }
    return true;
}

static bool count_mapping(void) {
    return __atomic_add_fetch(&mappings_used, 1, __ATOMIC_RELAXED) <= MAPPINGS_MAX;
}

static void uncount_mapping(void) {
    __atomic_sub_fetch(&mappings_used, 1, __ATOMIC_RELAXED);
}

// Neighbours in both the file and the address space are mapped together; where others
// have mapped something, page by page.
static void map_pages(struct ll_arm_module* module, uint32_t first, uint32_t end) {
    const struct ll_arm_mapping* mapping = &module->plan.mappings[first];
    size_t offset = (1 + (size_t)mapping->page) * LL_PAGE_SIZE;
    if (count_mapping() &&
        map_exactly(module->bias + (uintptr_t)mapping->address,
                    (size_t)(end - first) * LL_PAGE_SIZE, PROT_READ | PROT_EXEC, 0,
                    module->plan.file.file, offset)) {
        memset(module->rooms + first, LL_ARM_ROOM_TAKEN, end - first);
        return;
    }
    uncount_mapping();
    if (end - first == 1) {
        module->rooms[first] = LL_ARM_ROOM_REFUSED;
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

void ll_stubs_map_all(struct ll_arm_module* module) {
    uint32_t count = module->plan.header->mapping_count;
    for (uint32_t first = 0; first < count;) {
        uint32_t end = end_of_run(&module->plan, first);
        map_pages(module, first, end);
        first = end;
    }
}

// The page takes its place from nobody: that is reserved first.
static bool map_once_more(struct ll_arm_module* module, uint32_t number) {
    const struct ll_arm_mapping* mapping = &module->plan.mappings[number];
    uintptr_t page = module->bias + (uintptr_t)mapping->address;
    if (module->code_pages == NULL ||
        mapping->page >= module->plan.header->page_count ||
        !map_exactly(page, LL_PAGE_SIZE, PROT_NONE, MAP_ANONYMOUS, -1, 0)) {
        return false;
    }
    const uint8_t* code = module->code_pages + (size_t)mapping->page * LL_PAGE_SIZE;
    if (ll_syscall(SYS_mremap, code, 0, LL_PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
                   page) == (long)page) {
        return true;
    }
    ll_syscall(SYS_munmap, page, LL_PAGE_SIZE);
    return false;
}

static bool get_page(struct ll_arm_module* module, uint32_t number) {
    if (module->rooms[number] == LL_ARM_ROOM_WANTED) {
        ll_arm_plan_bring(&module->plan.mappings[number],
                          sizeof *module->plan.mappings);
        bool is_mapped = count_mapping() && map_once_more(module, number);
        module->rooms[number] = is_mapped ? LL_ARM_ROOM_TAKEN : LL_ARM_ROOM_REFUSED;
        if (!is_mapped) {
            uncount_mapping();
        }
    }
    return module->rooms[number] == LL_ARM_ROOM_TAKEN;
}

bool ll_stubs_get(struct ll_arm_module* module, const struct ll_arm_site* site) {
    const uint32_t* pages = &module->plan.stub_pages[site->stub_pages_at];
    ll_arm_plan_bring(pages, site->page_count * sizeof *pages);
    for (uint32_t i = 0; i < site->page_count; i++) {
        if (!get_page(module, pages[i])) {
            return false;
        }
    }
    return true;
}

void ll_stubs_let_lazy_go(struct ll_arm_module* module) {
    if (module->code_pages != NULL) {
        unmap_entries(module);
        ll_memory_unmap(module->code_pages, code_bytes(module));
        module->code_pages = NULL;
    }
}

void ll_stubs_let_entries_go(const struct ll_arm_module* module) {
    const struct ll_arm_header* header = module->plan.header;
    if (module->code_pages != NULL) {
        ll_syscall(SYS_madvise, module->bias + (uintptr_t)header->entry_stubs_address,
                   (size_t)header->entry_page_count * LL_PAGE_SIZE, MADV_DONTNEED);
    }
}

void ll_stubs_unmap(struct ll_arm_module* module) {
    for (uint32_t i = 0; i < module->plan.header->mapping_count; i++) {
        if (module->rooms[i] == LL_ARM_ROOM_TAKEN) {
            uintptr_t page = module->bias + (uintptr_t)module->plan.mappings[i].address;
            ll_syscall(SYS_munmap, page, LL_PAGE_SIZE);
            module->rooms[i] = LL_ARM_ROOM_WANTED;
            uncount_mapping();
        }
    }
    for (int i = 0; i < 2; i++) {
        if (module->plan.header->gates[i] != 0) {
            uintptr_t page = module->bias + (uintptr_t)module->plan.header->gates[i];
            ll_syscall(SYS_munmap, page, LL_PAGE_SIZE);
        }
    }
    ll_stubs_let_lazy_go(module);
}

// Pages to be given back, by hash; 0: none. Most sites share theirs with others, and
// one call for all of them will do.
enum { WAITING_MAX = 2048 };
static LL_BULK uintptr_t waiting[WAITING_MAX];

static void give_back(uintptr_t* page) {
    if (*page != 0) {
        ll_syscall(SYS_madvise, *page, LL_PAGE_SIZE, MADV_DONTNEED);
        *page = 0;
    }
}

// Before the bias is added.
static int64_t stub_page_of(const struct ll_arm_site* site) {
    int64_t jump_end = (int64_t)ll_arm_jump_at(site) + LL_ARM_JUMP_LENGTH;
    return (jump_end + site->distance) & -(int64_t)LL_PAGE_SIZE;
}

int32_t ll_stub_other_page(const struct ll_arm_plan* plan,
                           const struct ll_arm_site* site) {
    if (site->page_count < 2) {
        return 0;
    }
    const uint32_t* pages = &plan->stub_pages[site->stub_pages_at];
    ll_arm_plan_bring(pages, site->page_count * sizeof *pages);
    int64_t distance = 0;
    for (uint32_t i = 0; i < site->page_count && distance == 0; i++) {
        const struct ll_arm_mapping* mapping = &plan->mappings[pages[i]];
        ll_arm_plan_bring(mapping, sizeof *mapping);
        distance = mapping->address - stub_page_of(site);
    }
    return (int32_t)(distance / LL_PAGE_SIZE);
}

static void let_page_go(uintptr_t page) {
    // Those of one site differ in high bits only.
    uint64_t hash = page / LL_PAGE_SIZE * 0x9e3779b97f4a7c15U;
    uintptr_t* found = &waiting[hash >> 32 & (WAITING_MAX - 1)];
    if (*found != page) {
        give_back(found);
        *found = page;
    }
}

void ll_stub_let_go(const struct ll_arm_place* place) {
    const struct ll_arm_site* site = &place->site;
    if (site->site_count == 0) {
        return; // the first of its group jumps
    }
    uintptr_t page = place->module->bias + (uintptr_t)stub_page_of(site);
    let_page_go(page);
    if (site->other_page != 0) {
        let_page_go(page + (uintptr_t)((intptr_t)site->other_page * LL_PAGE_SIZE));
    }
}

void ll_stubs_give_back(void) {
    for (unsigned i = 0; i < WAITING_MAX; i++) {
        give_back(&waiting[i]);
    }
}
