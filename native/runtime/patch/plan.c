// Opening a plan trusts nothing: who owns it, how long it is, what it claims.
#include "patch/plan.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "patch/shadow.h"

static const char magic[8] = {'l', 'l', 'p', 'l', 'a', 'n', '0', '2'};

static bool plan_path(char* path, size_t capacity, const char* folder,
                      const uint8_t* build_id, uint32_t length) {
    static const char digits[] = "0123456789abcdef";
    static const char suffix[] = ".plan";
    size_t used = strlen(folder);
    if (used + 1 + 2 * (size_t)length + sizeof suffix > capacity) {
        return false;
    }
    memcpy(path, folder, used);
    path[used++] = '/';
    for (uint32_t i = 0; i < length; i++) {
        path[used++] = digits[build_id[i] >> 4];
        path[used++] = digits[build_id[i] & 15];
    }
    memcpy(path + used, suffix, sizeof suffix);
    return true;
}

// Only the user we run as, or root, may have written code that we are about to run.
static bool is_safe(int file, struct stat* status) {
    if (ll_syscall(SYS_fstat, file, status) != 0 || !S_ISREG(status->st_mode)) {
        return false;
    }
    uid_t self = (uid_t)ll_syscall(SYS_geteuid);
    bool owned = status->st_uid == self || status->st_uid == 0;
    return owned && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// A large library has a megabyte of tables, for which a CRC would take longer than all
// the rest of the start.
static uint32_t adler32(const char* data, size_t size_bytes) {
    enum { MODULUS = 65521, STRIDE = 5552 };
    const uint8_t* byte = (const uint8_t*)data;
    uint32_t first = 1;
    uint32_t second = 0;
    while (size_bytes > 0) {
        size_t count = size_bytes < STRIDE ? size_bytes : STRIDE;
        size_bytes -= count;
        for (; count > 0; count--) {
            first += *byte++;
            second += first;
        }
        first %= MODULUS;
        second %= MODULUS;
    }
    return second << 16 | first;
}

static bool is_sound(struct ll_plan* plan, const uint8_t* build_id, uint32_t length) {
    const struct ll_plan_header* header = plan->header;
    if (memcmp(header->magic, magic, sizeof magic) != 0 ||
        header->heap_tag != LL_HEAP_TAG || header->build_id_length != length ||
        memcmp(header->build_id, build_id, length) != 0) {
        return false;
    }
    size_t tables = ll_plan_page_offset(plan, header->page_count, true);
    size_t mappings_size = header->mapping_count * sizeof *plan->mappings;
    size_t patches_size = header->patch_count * sizeof *plan->patches;
    if (tables + mappings_size + patches_size != plan->size_bytes) {
        return false;
    }
    const char* start = (const char*)header + tables;
    plan->mappings = (const struct ll_plan_mapping*)start;
    plan->patches = (const struct ll_plan_patch*)(start + mappings_size);
    return adler32(start, mappings_size + patches_size) == header->tables_sum;
}

enum ll_plan_verdict ll_plan_open(const char* folder, const uint8_t* build_id,
                                  uint32_t build_id_length, struct ll_plan* plan) {
    char path[4096];
    if (build_id_length == 0 || build_id_length > LL_BUILD_ID_MAX ||
        !plan_path(path, sizeof path, folder, build_id, build_id_length)) {
        return LL_PLAN_MISSING;
    }
    plan->file = ll_file_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (plan->file < 0) {
        return LL_PLAN_MISSING;
    }
    struct stat status;
    if (!is_safe(plan->file, &status)) {
        ll_file_close(plan->file);
        return LL_PLAN_UNSAFE;
    }
    plan->size_bytes = (size_t)status.st_size;
    long mapped = plan->size_bytes < LL_PAGE_SIZE
                      ? -1
                      : ll_syscall(SYS_mmap, 0, plan->size_bytes, PROT_READ, MAP_SHARED,
                                   plan->file, 0);
    if (mapped < 0) {
        ll_file_close(plan->file);
        return LL_PLAN_DAMAGED;
    }
    plan->header = (const struct ll_plan_header*)mapped;
    if (!is_sound(plan, build_id, build_id_length)) {
        ll_plan_close(plan);
        return LL_PLAN_DAMAGED;
    }
    return LL_PLAN_OK;
}

void ll_plan_close(struct ll_plan* plan) {
    ll_syscall(SYS_munmap, plan->header, plan->size_bytes);
    ll_plan_close_file(plan);
    plan->header = NULL;
}

void ll_plan_close_file(struct ll_plan* plan) {
    if (plan->file >= 0) {
        ll_file_close(plan->file);
        plan->file = -1;
    }
}

size_t ll_plan_page_offset(const struct ll_plan* plan, uint32_t page, bool locked) {
    size_t number = 1 + (size_t)page;
    if (locked) {
        number += plan->header->page_count;
    }
    return number * LL_PAGE_SIZE;
}
