#include "os/file.h"

#include <errno.h>
#include <fcntl.h>

#include "os/syscall.h"

int ll_file_open(const char* path, int flags) {
    long result;
    do {
        result = ll_syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
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
