// Pages by raw system calls, and the one range that holds the runtime's own tables.
#include "os/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/attributes.h"
#include "os/backing.h"
#include "os/syscall.h"

// Younger than some C libraries' headers.
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

// Ranges are sought from these addresses upwards. ThreadSanitizer knows only a few
// windows of the address space as the program's memory, and both must lie in one.
#ifdef __SANITIZE_THREAD__
static const uintptr_t heap_first = 0x7e8000000000;
static const uintptr_t own_first = 0x550000000000;
enum { RANGE_TRIES = 1 };
#else
static const uintptr_t heap_first = 0x220000000000;
static const uintptr_t own_first = 0x310000000000;
enum { RANGE_TRIES = 15 };
#endif

static const uintptr_t range_bytes = (uintptr_t)1 << LL_RANGE_SHIFT;

// Of the own range: where it starts (0: not chosen yet) and the first address that was
// never given out. Address space is not given out twice; a TiB of it lasts.
static uintptr_t own_start;
static uintptr_t own_cursor;

// A range at a place of its own, see ll_memory_claim.
static uintptr_t claimed_start;
static uintptr_t claimed_end;

static size_t round_to_pages(size_t size_bytes) {
    return (size_bytes + LL_PAGE_SIZE - 1) & ~(size_t)(LL_PAGE_SIZE - 1);
}

static bool is_error(long result) {
    return (unsigned long)result >= (unsigned long)-4095L;
}

// True for addresses of the heap's range when there is a file behind it.
static bool is_backed(uintptr_t address) {
    return ll_backing_is_on() &&
           (address - heap_first) >> LL_RANGE_SHIFT < (uintptr_t)RANGE_TRIES;
}

static long map_new(uintptr_t start, size_t size_bytes, int more_flags) {
    if (LL_UNLIKELY(is_backed(start))) {
        return ll_backing_map(start, size_bytes);
    }
    return ll_syscall(SYS_mmap, start, size_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | more_flags,
                      -1, 0);
}

// Maps exactly there or not at all: 0, or a negative errno. Kernels before 4.17 take
// the address as a hint.
static long try_map_at(uintptr_t start, size_t size_bytes, int more_flags) {
    long result = map_new(start, size_bytes, more_flags);
    if (is_error(result)) {
        return result;
    }
    if ((uintptr_t)result != start) {
        ll_syscall(SYS_munmap, result, size_bytes);
        return -EEXIST;
    }
    return 0;
}

static bool map_at(uintptr_t start, size_t size_bytes) {
    return try_map_at(start, size_bytes, 0) == 0;
}

static void* start_range(uintptr_t first, size_t size_bytes) {
    for (uintptr_t i = 0; i < RANGE_TRIES; i++) {
        uintptr_t start = first + (i << LL_RANGE_SHIFT);
        if (map_at(start, size_bytes)) {
            return (void*)start;
        }
    }
    return NULL;
}

void* ll_memory_start_range(size_t first_bytes) {
    return start_range(heap_first, first_bytes);
}

// The winner of a race for the first use sets the cursor, which tells everybody the
// range; a loser's page stays unused.
static bool own_range_exists(void) {
    if (LL_LIKELY(__atomic_load_n(&own_start, __ATOMIC_ACQUIRE) != 0)) {
        return true;
    }
    uintptr_t start = (uintptr_t)start_range(own_first, LL_PAGE_SIZE);
    if (start == 0) {
        return false;
    }
    uintptr_t cursor = 0;
    if (__atomic_compare_exchange_n(&own_cursor, &cursor, start + LL_PAGE_SIZE, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        cursor = start;
    }
    __atomic_store_n(&own_start, cursor & ~(range_bytes - 1), __ATOMIC_RELEASE);
    return true;
}

void* ll_memory_reserve(void* wanted, size_t size_bytes) {
    if (wanted != NULL) {
        return wanted;
    }
    size_t size = round_to_pages(size_bytes);
    if (size < size_bytes || size > range_bytes || !own_range_exists()) {
        return NULL;
    }
    uintptr_t start = __atomic_load_n(&own_cursor, __ATOMIC_RELAXED);
    do {
        if (size > own_start + range_bytes - start) {
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&own_cursor, &start, start + size, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (void*)start;
}

// Takes a reservation back, unless others have been made since.
static void give_back_reservation(void* start, size_t size) {
    uintptr_t end = (uintptr_t)start + size;
    __atomic_compare_exchange_n(&own_cursor, &end, (uintptr_t)start, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// The slow way, for a stretch of which some pages are committed already.
static bool commit_missing_pages(uintptr_t start, size_t size_bytes) {
    for (uintptr_t page = start; page < start + size_bytes; page += LL_PAGE_SIZE) {
        long result =
            ll_syscall(SYS_mprotect, page, LL_PAGE_SIZE, PROT_READ | PROT_WRITE);
        if (is_error(result) && !map_at(page, LL_PAGE_SIZE)) {
            return false;
        }
    }
    return true;
}

bool ll_memory_commit(void* start, size_t size_bytes) {
    size_t size = round_to_pages(size_bytes);
    if (map_at((uintptr_t)start, size)) {
        return true;
    }
    return ll_memory_is_own((uintptr_t)start) &&
           commit_missing_pages((uintptr_t)start, size);
}

bool ll_memory_purge(void* start, size_t size_bytes) {
    if (LL_UNLIKELY(is_backed((uintptr_t)start))) {
        return ll_backing_purge((uintptr_t)start, size_bytes);
    }
    return !is_error(ll_syscall(SYS_madvise, start, size_bytes, MADV_DONTNEED));
}

void ll_memory_prefer_huge(void* start, size_t size_bytes) {
    if (!is_backed((uintptr_t)start)) {
        ll_syscall(SYS_madvise, start, size_bytes, MADV_HUGEPAGE);
    }
}

bool ll_memory_move(void* from, void* to, size_t size_bytes) {
    if (is_backed((uintptr_t)from)) {
        return false;
    }
    size_t size = round_to_pages(size_bytes);
    long result = ll_syscall(SYS_mremap, from, size, size,
                             MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
    if (is_error(result)) {
        // A failed attempt may have removed the pages it was to replace.
        map_at((uintptr_t)to, size);
        return false;
    }
    return true;
}

static void* map_anywhere(size_t size_bytes, int more_flags) {
    enum { FOREIGN_MAPPINGS_SKIPPED = 8 };
    size_t size = round_to_pages(size_bytes);
    for (int i = 0; i < FOREIGN_MAPPINGS_SKIPPED; i++) {
        void* start = ll_memory_reserve(NULL, size);
        if (start == NULL) {
            return NULL;
        }
        long result = try_map_at((uintptr_t)start, size, more_flags);
        if (result == 0) {
            return start;
        }
        if (result != -EEXIST) {
            give_back_reservation(start, size);
            return NULL;
        }
    }
    return NULL;
}

void* ll_memory_map(size_t size_bytes) {
    return map_anywhere(size_bytes, 0);
}

void* ll_memory_map_sparse(size_t size_bytes) {
    return map_anywhere(size_bytes, MAP_NORESERVE);
}

void ll_memory_unmap(void* start, size_t size_bytes) {
    ll_syscall(SYS_munmap, start, round_to_pages(size_bytes));
}

bool ll_memory_claim(uintptr_t start, size_t size_bytes) {
    long result = ll_syscall(
        SYS_mmap, start, size_bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (is_error(result)) {
        return false;
    }
    if ((uintptr_t)result != start) {
        ll_syscall(SYS_munmap, result, size_bytes);
        return false;
    }
    claimed_start = start;
    claimed_end = start + size_bytes;
    return true;
}

bool ll_memory_is_own(uintptr_t address) {
    return ll_memory_own_end(address) != 0;
}

uintptr_t ll_memory_own_end(uintptr_t address) {
    uintptr_t start = __atomic_load_n(&own_start, __ATOMIC_RELAXED);
    if (start != 0 && address - start < range_bytes) {
        return start + range_bytes;
    }
    return claimed_start <= address && address < claimed_end ? claimed_end : 0;
}
