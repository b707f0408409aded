#include <sys/mman.h>

#include "os/memory.h"
#include "os/syscall.h"
#include "patch/module.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

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

static void note(struct ll_patched* module, struct run run, enum ll_room room) {
    for (uint32_t i = 0; i < run.count; i++) {
        module->rooms[run.first + i] = (uint8_t)room;
    }
}

// Where others have mapped something, only the pages in the way are left out.
static void map_run(struct ll_patched* module, struct run run) {
    long result = ll_syscall(SYS_mmap, run.start, run.size_bytes, PROT_READ | PROT_EXEC,
                             MAP_PRIVATE | MAP_FIXED_NOREPLACE, module->plan.file.file,
                             run.offset);
    if (result == (long)run.start) {
        note(module, run, LL_ROOM_TAKEN);
        return;
    }
    if (result >= 0) {
        ll_syscall(SYS_munmap, result, run.size_bytes);
    }
    if (run.count == 1) {
        note(module, run, LL_ROOM_REFUSED);
        module->lacks_room = true;
        return;
    }
    uint32_t half = run.count / 2;
    map_run(module, part_of(run, 0, half));
    map_run(module, part_of(run, half, run.count - half));
}

// A page that so many stores need shall not be lost to one that a single store needs.
enum { DENSE_STORES = 6 };

static void map_run_if_dense(struct ll_patched* module, struct run run) {
    if (run.count > 1 || module->plan.mappings[run.first].stores >= DENSE_STORES) {
        map_run(module, run);
    }
}

static void unmap_run(struct ll_patched* module, struct run run) {
    note(module, run, LL_ROOM_WANTED);
    ll_syscall(SYS_munmap, run.start, run.size_bytes);
}

static struct run make_run(const struct ll_patched* module, uint32_t first,
                           uint32_t end) {
    const struct ll_plan_mapping* mapping = &module->plan.mappings[first];
    return (struct run){
        .first = first,
        .count = end - first,
        .start = module->bias + (uintptr_t)mapping->address,
        .size_bytes = (size_t)(end - first) * LL_PAGE_SIZE,
        .offset = ll_plan_code_offset(&module->plan, mapping->page),
    };
}

// Does something with the trampolines in one state.
static void visit_runs(struct ll_patched* module, enum ll_room room,
                       void (*visit)(struct ll_patched*, struct run)) {
    const struct ll_plan_mapping* mappings = module->plan.mappings;
    uint32_t count = module->plan.header->mapping_count;
    for (uint32_t first = 0; first < count;) {
        uint32_t end = first + 1;
        while (end < count && module->rooms[end] == module->rooms[first] &&
               mappings[end].page == mappings[end - 1].page + 1 &&
               mappings[end].address == mappings[end - 1].address + LL_PAGE_SIZE) {
            end++;
        }
        if (module->rooms[first] == room) {
            visit(module, make_run(module, first, end));
        }
        first = end;
    }
}

void ll_room_take_dense(struct ll_patched* module) {
    visit_runs(module, LL_ROOM_WANTED, map_run_if_dense);
}

void ll_room_take(struct ll_patched* module) {
    visit_runs(module, LL_ROOM_WANTED, map_run);
}

void ll_room_give_back(struct ll_patched* module) {
    visit_runs(module, LL_ROOM_TAKEN, unmap_run);
}
