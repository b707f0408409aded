#include "record/append.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "format/records.h"
#include "os/file.h"
#include "os/syscall.h"

// The kernel's signal sets are one word; libc's are larger.
typedef uint64_t signal_set;
static const signal_set file_size_signal = 1ULL << (SIGXFSZ - 1);

// The descriptor held open, -1 if none, and the file it must still belong to.
static struct {
    int file;
    dev_t device;
    ino_t inode;
} kept = {.file = -1};

static int open_recording(const char* path);
static bool is_kept_file(void);
static long write_quietly(int file, const void* data, size_t size_bytes);

bool ll_append(const char* path, const void* data, size_t size_bytes) {
    int file = is_kept_file() ? kept.file : open_recording(path);
    if (file < 0) {
        return false;
    }
    // The rest of a short write is given up: other processes may have appended
    // meanwhile, and a reader skips the torn chunk by its checksum.
    long written = write_quietly(file, data, size_bytes);
    if (file != kept.file) {
        ll_file_close(file);
    }
    return written == (long)size_bytes;
}

void ll_append_keep_open(const char* path) {
    if (is_kept_file()) {
        return;
    }
    kept.file = -1;
    int file = open_recording(path);
    struct stat status;
    if (file < 0 || ll_syscall(SYS_fstat, file, &status) != 0) {
        return;
    }
    struct rlimit limit = {.rlim_cur = 1024};
    (void)ll_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    // Below 1024, since the kernel's table grows with the highest number in use.
    uint64_t lowest = limit.rlim_cur < 1024 ? limit.rlim_cur : 1024;
    lowest = lowest > 64 ? lowest - 24 : lowest / 2;
    long high = ll_syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, lowest);
    if (high >= 0) {
        kept.file = (int)high;
        kept.device = status.st_dev;
        kept.inode = status.st_ino;
    }
    ll_file_close(file);
}

int ll_append_kept_descriptor(void) {
    return is_kept_file() ? kept.file : -1;
}

static bool is_ours(int file) {
    struct stat status;
    if (ll_syscall(SYS_fstat, file, &status) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    long user = ll_syscall(SYS_geteuid);
    struct ll_record_file_header header;
    return (user == 0 || status.st_uid == (uid_t)user) &&
           ll_file_read_at(file, &header, sizeof header, 0) == sizeof header &&
           header.magic == LL_FILE_MAGIC && header.version == LL_RECORDING_VERSION;
}

static int open_recording(const char* path) {
    // Without O_NONBLOCK a pipe put in the file's place would hang the program.
    int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
    int file = ll_file_open(path, flags);
    if (file >= 0 && !is_ours(file)) {
        ll_file_close(file);
        return -EPERM;
    }
    return file;
}

static bool is_kept_file(void) {
    struct stat status;
    return kept.file >= 0 && ll_syscall(SYS_fstat, kept.file, &status) == 0 &&
           status.st_dev == kept.device && status.st_ino == kept.inode;
}

static bool file_size_is_limited(void) {
    struct rlimit limit;
    return ll_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

// A write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills. It is blocked meanwhile and
// taken back, unless the program had one pending already.
static long write_quietly(int file, const void* data, size_t size_bytes) {
    if (!file_size_is_limited()) {
        return ll_file_write(file, data, size_bytes);
    }
    signal_set before = 0;
    signal_set pending = 0;
    const struct timespec at_once = {0};
    (void)ll_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &file_size_signal, &before,
                     sizeof before);
    (void)ll_syscall(SYS_rt_sigpending, &pending, sizeof pending);
    long written = ll_file_write(file, data, size_bytes);
    if ((pending & file_size_signal) == 0) {
        (void)ll_syscall(SYS_rt_sigtimedwait, &file_size_signal, NULL, &at_once,
                         sizeof file_size_signal);
    }
    (void)ll_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return written;
}
