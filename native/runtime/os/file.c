#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "os/proc.h"
#include "os/syscall.h"

static const char proc[] = "/proc/";

static bool is_in_proc(const char* path) {
    return strncmp(path, proc, sizeof proc - 1) == 0;
}

int ll_file_open(const char* path, int flags) {
    int folder = is_in_proc(path) ? ll_proc_kept_descriptor() : -1;
    const char* name = folder < 0 ? path : path + sizeof proc - 1;
    long result;
    do {
        result = ll_syscall(SYS_openat, folder < 0 ? AT_FDCWD : folder, name,
                            flags | O_CLOEXEC, 0);
    } while (result == -EINTR);
    return (int)result;
}

void ll_file_close(int file) {
    // Not repeated when interrupted: Linux has freed the descriptor by then, and the
    // number may already be another thread's.
    (void)ll_syscall(SYS_close, file);
}

long ll_file_read(int file, void* buffer, size_t size_bytes) {
    long result;
    do {
        result = ll_syscall(SYS_read, file, buffer, size_bytes);
    } while (result == -EINTR);
    return result;
}

long ll_file_read_at(int file, void* buffer, size_t size_bytes, uint64_t offset) {
    long result;
    do {
        result = ll_syscall(SYS_pread64, file, buffer, size_bytes, offset);
    } while (result == -EINTR);
    return result;
}

long ll_file_write(int file, const void* data, size_t size_bytes) {
    long result;
    do {
        result = ll_syscall(SYS_write, file, data, size_bytes);
    } while (result == -EINTR);
    return result;
}
