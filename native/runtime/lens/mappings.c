#include "lens/mappings.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "heap/inspect.h"
#include "os/maps.h"
#include "os/memory.h"
#include "os/residence.h"
#include "os/syscall.h"

enum { COPY_BYTES = 16 * LL_PAGE_SIZE };

struct search {
    struct ll_mappings* mappings;
    struct ll_residence residence;
    enum ll_residence_source source; // for the mapping at hand
    void* copy;                      // memory that may vanish is read through here
    uintptr_t guard_end;             // of the last unreadable mapping
};

static ll_maps_visitor search_mapping;

void ll_mark_mappings(struct ll_mappings* mappings) {
    struct search search = {.mappings = mappings};
    search.copy = ll_memory_map(COPY_BYTES);
    ll_residence_open(&search.residence);
    mappings->listed = ll_maps_visit(search_mapping, &search);
    ll_residence_close(&search.residence);
    if (search.copy != NULL) {
        ll_memory_unmap(search.copy, COPY_BYTES);
    }
}

static bool has_prefix(const char* text, const char* prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Shared memory that lives in memory only. A file shared with others holds no pointers
// of this process, and reading it would cost input from disk.
static bool is_shared_memory(const struct ll_mapping* mapping) {
    return has_prefix(mapping->name, "/memfd:") ||
           has_prefix(mapping->name, "/dev/zero") ||
           has_prefix(mapping->name, "/dev/shm/") ||
           has_prefix(mapping->name, "/SYSV") ||
           has_prefix(mapping->name, "[anon_shmem");
}

// Reading a device's memory can have effects.
static bool is_device(const struct ll_mapping* mapping) {
    return has_prefix(mapping->name, "/dev/") && !is_shared_memory(mapping);
}

// The kernel's own pages: [vvar], [vdso], [vsyscall].
static bool is_of_kernel(const struct ll_mapping* mapping) {
    return has_prefix(mapping->name, "[v");
}

static bool counts(const struct ll_mapping* mapping) {
    if (!mapping->readable || is_device(mapping) || is_of_kernel(mapping) ||
        ll_is_heap_address(mapping->start)) {
        return false;
    }
    if (mapping->shared) {
        return mapping->writable && is_shared_memory(mapping);
    }
    // Memory without a file that is read-only now was written before.
    return mapping->writable || mapping->inode == 0;
}

static void read_directly(struct search* search, uintptr_t start, uintptr_t end) {
    ll_mark_range(search->mappings->marker, (const void*)start, (const void*)end);
}

// Reads one piece by a system call, which fails where a load would raise a signal. A
// sandbox may forbid the call; a load is then the only way.
static void read_copy(struct search* search, uintptr_t start, size_t size_bytes) {
    struct iovec local = {search->copy, size_bytes};
    struct iovec remote = {(void*)start, size_bytes};
    long self = ll_syscall(SYS_getpid);
    long got = ll_syscall(SYS_process_vm_readv, self, &local, 1, &remote, 1, 0);
    if (got == -ENOSYS || got == -EPERM) {
        read_directly(search, start, start + size_bytes);
        return;
    }
    size_t copied = got < 0 ? 0 : (size_t)got;
    ll_mark_range(search->mappings->marker, search->copy, (char*)search->copy + copied);
    search->mappings->unread_bytes += size_bytes - copied;
}

static void read_run(struct search* search, uintptr_t start, uintptr_t end) {
    // Pages known from pagemap are the process's own; no file can shrink under them.
    bool stays =
        search->source == LL_RESIDENCE_PAGEMAP && !search->mappings->may_vanish;
    if (stays || search->copy == NULL) {
        read_directly(search, start, end);
        return;
    }
    for (uintptr_t at = start; at < end; at += COPY_BYTES) {
        read_copy(search, at, end - at < COPY_BYTES ? end - at : COPY_BYTES);
    }
}

static void search_gap(struct search* search, uintptr_t start, uintptr_t end) {
    uintptr_t page = start & -(uintptr_t)LL_PAGE_SIZE;
    uintptr_t last = (end + LL_PAGE_SIZE - 1) & -(uintptr_t)LL_PAGE_SIZE;
    uintptr_t run_start;
    uintptr_t run_end;
    while (ll_residence_next(&search->residence, search->source, page, last, &run_start,
                             &run_end)) {
        read_run(search, run_start < start ? start : run_start,
                 run_end > end ? end : run_end);
        page = run_end;
    }
}

static bool search_mapping(const struct ll_mapping* mapping, void* context) {
    struct search* search = context;
    if (!mapping->readable) {
        search->guard_end = mapping->end;
    }
    if (!counts(mapping) || ll_memory_own_end(mapping->start) >= mapping->end) {
        return true;
    }
    struct ll_searched searched = {.start = mapping->start,
                                   .end = mapping->end,
                                   .guarded = search->guard_end == mapping->start,
                                   .main_stack = has_prefix(mapping->name, "[stack")};
    search->source =
        mapping->shared ? LL_RESIDENCE_MINCORE : search->residence.private_source;
    uintptr_t from = mapping->start;
    uintptr_t to;
    while (ll_holes_next_gap(search->mappings->holes, &searched, from, &from, &to)) {
        search_gap(search, from, to);
        from = to;
    }
    return true;
}
