#include "os/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/presence.h"
#include "os/shelves.h"
#include "os/syscall.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static const size_t range_bytes = (size_t)1 << LL_RANGE_SHIFT;

enum state { OFF, SHARED, FROZEN };

// The file, with what tells it from another one that the program put at the same
// descriptor.
struct backing_file {
    int descriptor;
    dev_t device;
    ino_t inode;
};

static enum state state;
static struct backing_file current = {.descriptor = -1};
static uint32_t mappings; // made in the place of others

static uintptr_t offset_of(uintptr_t address) {
    return address & (range_bytes - 1);
}

static bool is_error(long result) {
    return (unsigned long)result >= (unsigned long)-4095L;
}

// A limit on file sizes raises SIGXFSZ for our file, too.
static bool file_size_is_limited(void) {
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    (void)ll_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit);
    return limit.rlim_cur != RLIM_INFINITY;
}

// Where the system promises no more memory than it has, malloc must be able to fail,
// but a page of a file that cannot be had ends the program.
static bool memory_is_promised_strictly(void) {
    char mode = '2';
    int file = ll_file_open("/proc/sys/vm/overcommit_memory", O_RDONLY);
    if (file < 0) {
        return false;
    }
    (void)ll_file_read(file, &mode, 1);
    ll_file_close(file);
    return mode == '2';
}

// A descriptor that programs are unlikely to use, but below 1024, since the kernel's
// table grows with the highest number in use.
static int move_up(int file) {
    struct rlimit limit = {.rlim_cur = 1024};
    (void)ll_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    uint64_t lowest = limit.rlim_cur < 1024 ? limit.rlim_cur : 1024;
    lowest = lowest > 64 ? lowest - 16 : lowest / 2;
    long high = ll_syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, lowest);
    ll_file_close(file);
    return (int)high;
}

static bool make_file(struct backing_file* made) {
    if (file_size_is_limited()) {
        return false;
    }
    long file = ll_syscall(SYS_memfd_create, "leakline-heap", MFD_CLOEXEC);
    if (file < 0) {
        return false;
    }
    made->descriptor = move_up((int)file);
    struct stat status;
    if (made->descriptor < 0 ||
        ll_syscall(SYS_ftruncate, made->descriptor, 2 * range_bytes) != 0 ||
        ll_syscall(SYS_fstat, made->descriptor, &status) != 0) {
        return false;
    }
    made->device = status.st_dev;
    made->inode = status.st_ino;
    return true;
}

// The program may have closed our descriptor and opened another file there.
static bool is_ours(const struct backing_file* file, struct stat* status) {
    return file->descriptor >= 0 &&
           ll_syscall(SYS_fstat, file->descriptor, status) == 0 &&
           status->st_dev == file->device && status->st_ino == file->inode;
}

bool ll_backing_start(void) {
    if (memory_is_promised_strictly() || !make_file(&current)) {
        return false;
    }
    state = SHARED;
    return true;
}

bool ll_backing_is_on(void) {
    return __atomic_load_n(&state, __ATOMIC_RELAXED) != OFF;
}

bool ll_backing_is_shared(void) {
    return __atomic_load_n(&state, __ATOMIC_RELAXED) == SHARED;
}

static long map_place(const struct backing_file* file, uintptr_t start,
                      size_t size_bytes, int flags, size_t place) {
    long result = ll_syscall(SYS_mmap, start, size_bytes, PROT_READ | PROT_WRITE, flags,
                             file->descriptor, place);
    if (!is_error(result)) {
        // One huge page would stand for five hundred that nobody touched.
        (void)ll_syscall(SYS_madvise, start, size_bytes, MADV_NOHUGEPAGE);
    }
    return result;
}

static long map_file(const struct backing_file* file, uintptr_t start,
                     size_t size_bytes, int flags) {
    return map_place(file, start, size_bytes, flags, offset_of(start));
}

static long map_anonymous(uintptr_t start, size_t size_bytes, int flags) {
    return ll_syscall(SYS_mmap, start, size_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

// Without the descriptor the mapping just before can still grow, unless it leads to a
// shelf.
static long grow_mapping(uintptr_t start, size_t size_bytes) {
    uintptr_t last = start - LL_PAGE_SIZE;
    if (ll_shelves_is_merged(last)) {
        return -ENOMEM;
    }
    long result =
        ll_syscall(SYS_mremap, last, LL_PAGE_SIZE, LL_PAGE_SIZE + size_bytes, 0);
    return is_error(result) ? result : (long)start;
}

long ll_backing_map(uintptr_t start, size_t size_bytes) {
    struct stat status;
    if (state == FROZEN) {
        return map_anonymous(start, size_bytes, MAP_FIXED_NOREPLACE);
    }
    return is_ours(&current, &status)
               ? map_file(&current, start, size_bytes, MAP_SHARED | MAP_FIXED_NOREPLACE)
               : grow_mapping(start, size_bytes);
}

// In a private view a page given back would show what the file holds. Short runs are
// not worth a mapping of their own.
static bool purge_frozen(uintptr_t start, size_t size_bytes) {
    enum { WORTH_A_MAPPING = 1 << 20 };
    return size_bytes >= WORTH_A_MAPPING &&
           !is_error(map_anonymous(start, size_bytes, MAP_FIXED));
}

bool ll_backing_purge(uintptr_t start, size_t size_bytes) {
    return state == FROZEN
               ? purge_frozen(start, size_bytes)
               : ll_syscall(SYS_madvise, start, size_bytes, MADV_REMOVE) == 0;
}

// Merged pages one by one, so that no page ever shows what is another's.
static bool map_pieces(uintptr_t start, uintptr_t end, int flags) {
    while (start < end) {
        uintptr_t piece_end = ll_shelves_piece_end(start, end);
        if (is_error(map_place(&current, start, piece_end - start, flags,
                               ll_shelves_place(start)))) {
            return false;
        }
        start = piece_end;
    }
    return true;
}

bool ll_backing_freeze(uintptr_t start, size_t size_bytes) {
    struct stat status;
    if (state != SHARED || !is_ours(&current, &status)) {
        return state != SHARED;
    }
    if (!map_pieces(start, start + size_bytes, MAP_PRIVATE | MAP_FIXED)) {
        return false;
    }
    __atomic_store_n(&state, FROZEN, __ATOMIC_RELAXED);
    return true;
}

// Writes part of the range into a file, at its place.
static bool write_range(int file, uintptr_t start, uintptr_t end) {
    while (start < end) {
        long written =
            ll_syscall(SYS_pwrite64, file, start, end - start, offset_of(start));
        if (written <= 0) {
            return false;
        }
        start += (uintptr_t)written;
    }
    return true;
}

// Parts of the range that the old file has memory for.
static bool copy_file_data(const struct backing_file* to, uintptr_t start,
                           size_t size_bytes) {
    uintptr_t base = start - offset_of(start);
    long at = (long)offset_of(start);
    long end = at + (long)size_bytes;
    while ((at = ll_syscall(SYS_lseek, current.descriptor, at, SEEK_DATA)) >= 0 &&
           at < end) {
        long hole = ll_syscall(SYS_lseek, current.descriptor, at, SEEK_HOLE);
        hole = hole < end ? hole : end;
        if (hole <= at || !write_range(to->descriptor, base + (uintptr_t)at,
                                       base + (uintptr_t)hole)) {
            return false;
        }
        at = hole;
    }
    return at >= end || at == -ENXIO;
}

// Merged pages get places of their own again.
static bool copy_merged(const struct backing_file* to, uintptr_t start, uintptr_t end) {
    for (; start < end; start = ll_shelves_piece_end(start, end)) {
        if (ll_shelves_is_merged(start) &&
            !write_range(to->descriptor, start, start + LL_PAGE_SIZE)) {
            return false;
        }
    }
    return true;
}

struct copying {
    int file;
    bool has_failed;
};

static void copy_present(uintptr_t start, uintptr_t end, void* context) {
    struct copying* copying = context;
    copying->has_failed |= !write_range(copying->file, start, end);
}

// Pages that were written for the first time since the range was frozen.
static bool copy_private_data(const struct backing_file* to, uintptr_t start,
                              size_t size_bytes) {
    struct ll_presence presence;
    struct copying copying = {.file = to->descriptor};
    if (!ll_presence_open(&presence)) {
        return false;
    }
    bool is_known =
        ll_presence_visit(&presence, start, start + size_bytes, copy_present, &copying);
    ll_presence_close(&presence);
    return is_known && !copying.has_failed;
}

// After the mapping, so that whoever sees the count finds the new one.
static void note_mapping(void) {
    __atomic_add_fetch(&mappings, 1, __ATOMIC_RELEASE);
}

uint32_t ll_backing_mappings(void) {
    return __atomic_load_n(&mappings, __ATOMIC_ACQUIRE);
}

void ll_backing_await_mapping(uint32_t known, uint64_t milliseconds) {
    struct timespec time = {.tv_sec = (time_t)(milliseconds / 1000),
                            .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)ll_syscall(SYS_futex, &mappings, FUTEX_WAIT_PRIVATE, known, &time);
}

bool ll_backing_renew(uintptr_t start, size_t size_bytes) {
    struct stat status;
    struct backing_file fresh = {.descriptor = -1};
    if (state != FROZEN || !is_ours(&current, &status) || !make_file(&fresh)) {
        return false;
    }
    if (!copy_file_data(&fresh, start, size_bytes) ||
        !copy_private_data(&fresh, start, size_bytes) ||
        !copy_merged(&fresh, start, start + size_bytes) ||
        is_error(map_file(&fresh, start, size_bytes, MAP_SHARED | MAP_FIXED))) {
        ll_file_close(fresh.descriptor);
        return false;
    }
    ll_file_close(current.descriptor);
    current = fresh;
    ll_shelves_forget();
    __atomic_store_n(&state, SHARED, __ATOMIC_RELAXED);
    note_mapping();
    (void)ll_syscall(SYS_futex, &mappings, FUTEX_WAKE_PRIVATE, 1);
    return true;
}

bool ll_backing_map_page(uintptr_t page, size_t place) {
    struct stat status;
    if (!is_ours(&current, &status)) {
        return false;
    }
    int sharing = state == FROZEN ? MAP_PRIVATE : MAP_SHARED;
    long result = map_place(&current, page, LL_PAGE_SIZE, sharing | MAP_FIXED, place);
    note_mapping();
    return !is_error(result);
}

bool ll_backing_read(size_t place, void* to, size_t size_bytes) {
    struct stat status;
    return is_ours(&current, &status) &&
           ll_syscall(SYS_pread64, current.descriptor, to, size_bytes, place) ==
               (long)size_bytes;
}

bool ll_backing_write(size_t place, const void* from, size_t size_bytes) {
    struct stat status;
    return is_ours(&current, &status) &&
           ll_syscall(SYS_pwrite64, current.descriptor, from, size_bytes, place) ==
               (long)size_bytes;
}

void ll_backing_empty(size_t place, size_t size_bytes) {
    struct stat status;
    if (state == SHARED && is_ours(&current, &status)) {
        (void)ll_syscall(SYS_fallocate, current.descriptor,
                         FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place, size_bytes);
    }
}

uint64_t ll_backing_bytes(void) {
    struct stat status;
    return is_ours(&current, &status) ? (uint64_t)status.st_blocks * 512 : 0;
}
