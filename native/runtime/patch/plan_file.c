#include "patch/plan_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"

static bool plan_path(char* path, size_t capacity, const char* folder,
                      const uint8_t* build_id, uint32_t length, const char* suffix) {
    static const char digits[] = "0123456789abcdef";
    size_t used = strlen(folder);
    size_t suffix_size = strlen(suffix) + 1;
    if (used + 1 + 2 * (size_t)length + suffix_size > capacity) {
        return false;
    }
    memcpy(path, folder, used);
    path[used++] = '/';
    for (uint32_t i = 0; i < length; i++) {
        path[used++] = digits[build_id[i] >> 4];
        path[used++] = digits[build_id[i] & 15];
    }
    memcpy(path + used, suffix, suffix_size);
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

enum ll_plan_verdict ll_plan_file_open(const char* folder, const uint8_t* build_id,
                                       uint32_t build_id_length, const char* suffix,
                                       struct ll_plan_file* plan) {
    char path[4096];
    if (build_id_length == 0 || build_id_length > LL_BUILD_ID_MAX ||
        !plan_path(path, sizeof path, folder, build_id, build_id_length, suffix)) {
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
    plan->start = NULL;
    plan->size_bytes = (size_t)status.st_size;
    if (plan->size_bytes < LL_PAGE_SIZE) {
        ll_file_close(plan->file);
        return LL_PLAN_DAMAGED;
    }
    return LL_PLAN_OK;
}

bool ll_plan_file_map(struct ll_plan_file* plan) {
    long mapped =
        ll_syscall(SYS_mmap, 0, plan->size_bytes, PROT_READ, MAP_SHARED, plan->file, 0);
    if (mapped < 0) {
        return false;
    }
    plan->start = (const char*)mapped;
    return true;
}

void ll_plan_file_close(struct ll_plan_file* plan) {
    if (plan->start != NULL) {
        ll_syscall(SYS_munmap, plan->start, plan->size_bytes);
        plan->start = NULL;
    }
    ll_plan_file_close_descriptor(plan);
}

void ll_plan_file_leave_pages(const struct ll_plan_file* plan) {
    ll_syscall(SYS_madvise, plan->start, plan->size_bytes, MADV_DONTNEED);
}

void ll_plan_file_close_descriptor(struct ll_plan_file* plan) {
    if (plan->file >= 0) {
        ll_file_close(plan->file);
        plan->file = -1;
    }
}
