#include "entry/loaded.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "os/memory.h"

static void find_build_id(const struct dl_phdr_info* info, const Elf64_Phdr* segment,
                          struct ll_patch_target* target) {
    const char* at = (const char*)(info->dlpi_addr + segment->p_vaddr);
    const char* end = at + segment->p_filesz;
    while (at + sizeof(Elf64_Nhdr) <= end) {
        const Elf64_Nhdr* note = (const Elf64_Nhdr*)at;
        const char* name = at + sizeof *note;
        const char* content = name + ((note->n_namesz + 3U) & ~3U);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            memcmp(name, "GNU", 4) == 0) {
            target->build_id = (const uint8_t*)content;
            target->build_id_length = note->n_descsz;
        }
        at = content + ((note->n_descsz + 3U) & ~3U);
    }
}

struct ll_patch_target ll_loaded_describe(const struct dl_phdr_info* info) {
    struct ll_patch_target target = {.bias = info->dlpi_addr};
    size_t text_size = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr* segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_NOTE) {
            find_build_id(info, segment, &target);
        } else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
                   segment->p_memsz > text_size) {
            // Plans are made for the largest executable segment.
            text_size = segment->p_memsz;
            target.text_start = start & ~(uintptr_t)(LL_PAGE_SIZE - 1);
            target.text_end = (start + segment->p_memsz + LL_PAGE_SIZE - 1) &
                              ~(uintptr_t)(LL_PAGE_SIZE - 1);
        }
    }
    return target;
}

bool ll_loaded_is_left_alone(const struct dl_phdr_info* info,
                             const struct ll_patch_target* target) {
    uintptr_t self = (uintptr_t)ll_loaded_describe;
    const char* name = strrchr(info->dlpi_name, '/');
    return target->text_end == 0 ||
           (target->text_start <= self && self < target->text_end) ||
           (name != NULL && strncmp(name, "/ld-linux", 9) == 0) ||
           strncmp(info->dlpi_name, "linux-vdso", 10) == 0;
}
