#include "os/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/attributes.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"

// As in linux/fs.h of Linux 6.7, which is younger than some C libraries' headers.
struct scan_request {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end;
    uint64_t regions;
    uint64_t region_count;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};
struct scan_region {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};
#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct scan_request)
enum { CATEGORY_PRESENT = 1 << 3, CATEGORY_SWAPPED = 1 << 4 };

enum { REGIONS = 512, ENTRIES = 512 };

static const uint64_t present_bit = UINT64_C(1) << 63;
static const uint64_t swapped_bit = UINT64_C(1) << 62;

static long scan(const struct ll_presence* presence, struct scan_request* request) {
    return ll_syscall(SYS_ioctl, presence->pagemap, PAGEMAP_SCAN_CALL, request);
}

static struct scan_request request_for(uintptr_t start, uintptr_t end,
                                       struct scan_region* regions) {
    return (struct scan_request){
        .size = sizeof(struct scan_request),
        .start = start,
        .end = end,
        .regions = (uint64_t)regions,
        .region_count = REGIONS,
        .category_anyof_mask = CATEGORY_PRESENT | CATEGORY_SWAPPED,
        .return_mask = CATEGORY_PRESENT,
    };
}

static bool can_scan(const struct ll_presence* presence) {
    static LL_BULK struct scan_region regions[REGIONS];
    uintptr_t page = (uintptr_t)regions & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    struct scan_request request = request_for(page, page + LL_PAGE_SIZE, regions);
    return scan(presence, &request) >= 0;
}

bool ll_presence_open(struct ll_presence* presence) {
    *presence = (struct ll_presence){.faults = LL_NO_FAULTS};
    presence->pagemap = ll_file_open("/proc/self/pagemap", O_RDONLY);
    if (presence->pagemap < 0) {
        return false;
    }
    presence->can_scan = can_scan(presence);
    return true;
}

void ll_presence_close(struct ll_presence* presence) {
    if (presence->pagemap >= 0) {
        ll_file_close(presence->pagemap);
    }
    ll_faults_close(&presence->faults);
    presence->pagemap = -1;
}

bool ll_presence_single_out(struct ll_presence* presence, uintptr_t start,
                            size_t size_bytes) {
    if (presence->faults.descriptor < 0) {
        ll_faults_open_silent(&presence->faults);
    }
    return ll_faults_register(&presence->faults, start, size_bytes);
}

static bool visit_by_scan(const struct ll_presence* presence, uintptr_t start,
                          uintptr_t end, ll_presence_visitor* visit, void* context) {
    struct scan_region regions[REGIONS];
    while (start < end) {
        struct scan_request request = request_for(start, end, regions);
        long found = scan(presence, &request);
        if (found < 0 || request.walk_end <= start) {
            return false;
        }
        for (long i = 0; i < found; i++) {
            visit(regions[i].start, regions[i].end, context);
        }
        start = request.walk_end;
    }
    return true;
}

static void visit_entries(const uint64_t* entries, size_t count, uintptr_t start,
                          ll_presence_visitor* visit, void* context) {
    size_t i = 0;
    while (i < count) {
        size_t first = i;
        while (i < count && (entries[i] & (present_bit | swapped_bit)) != 0) {
            i++;
        }
        if (i > first) {
            visit(start + first * LL_PAGE_SIZE, start + i * LL_PAGE_SIZE, context);
        }
        i += i == first;
    }
}

static bool visit_by_reading(const struct ll_presence* presence, uintptr_t start,
                             uintptr_t end, ll_presence_visitor* visit, void* context) {
    uint64_t entries[ENTRIES];
    while (start < end) {
        size_t count = (end - start) / LL_PAGE_SIZE;
        count = count < ENTRIES ? count : ENTRIES;
        long got = ll_file_read_at(presence->pagemap, entries, count * sizeof *entries,
                                   start / LL_PAGE_SIZE * sizeof *entries);
        if (got < (long)sizeof *entries) {
            return false;
        }
        count = (size_t)got / sizeof *entries;
        visit_entries(entries, count, start, visit, context);
        start += count * LL_PAGE_SIZE;
    }
    return true;
}

bool ll_presence_visit(const struct ll_presence* presence, uintptr_t start,
                       uintptr_t end, ll_presence_visitor* visit, void* context) {
    return presence->can_scan ? visit_by_scan(presence, start, end, visit, context)
                              : visit_by_reading(presence, start, end, visit, context);
}

bool ll_presence_drop(uintptr_t start, size_t size_bytes) {
    return ll_syscall(SYS_madvise, start, size_bytes, MADV_DONTNEED) == 0;
}

bool ll_presence_in_file(uintptr_t start, size_t size_bytes, uint8_t* answers) {
    return ll_syscall(SYS_mincore, start, size_bytes, answers) == 0;
}

// Two groups of pages that the kernel would bring back together.
enum { TRIAL_PAGES = 32, TRIAL_STEP = 16 };

static void count_pages(uintptr_t start, uintptr_t end, void* context) {
    *(size_t*)context += (end - start) / LL_PAGE_SIZE;
}

static uint64_t now_ns(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// Touches every TRIAL_STEPth page of the trial after all were dropped, and tells how
// many pages came back. To read and then to write is what costs most: two faults where
// pages are singled out.
static bool touch_some(const struct ll_presence* presence, volatile char* pages,
                       size_t* came_back, uint64_t* touch_ns) {
    uintptr_t start = (uintptr_t)pages;
    size_t size = (size_t)TRIAL_PAGES * LL_PAGE_SIZE;
    size_t none = 0;
    if (!ll_presence_drop(start, size) ||
        !ll_presence_visit(presence, start, start + size, count_pages, &none) ||
        none != 0) {
        return false;
    }
    uint64_t before_ns = now_ns();
    for (size_t i = 0; i < size; i += TRIAL_STEP * LL_PAGE_SIZE) {
        pages[i] = pages[i];
    }
    *touch_ns = (now_ns() - before_ns) / (TRIAL_PAGES / TRIAL_STEP);
    *came_back = 0;
    return ll_presence_visit(presence, start, start + size, count_pages, came_back) &&
           pages[0] == 1;
}

static enum ll_presence_verdict judge(struct ll_presence* presence, char* pages,
                                      uint64_t* touch_ns) {
    enum { TRIALS = 8 };
    size_t size = (size_t)TRIAL_PAGES * LL_PAGE_SIZE;
    bool is_single = ll_presence_single_out(presence, (uintptr_t)pages, size);
    *touch_ns = UINT64_MAX;
    for (size_t i = 0; i < size; i += LL_PAGE_SIZE) {
        pages[i] = 1;
    }
    for (int i = 0; i < TRIALS; i++) {
        size_t came_back;
        uint64_t cost_ns;
        if (!touch_some(presence, pages, &came_back, &cost_ns) ||
            came_back < TRIAL_PAGES / TRIAL_STEP) {
            return LL_PRESENCE_NONE;
        }
        *touch_ns = cost_ns < *touch_ns ? cost_ns : *touch_ns;
        is_single = is_single && came_back == TRIAL_PAGES / TRIAL_STEP;
    }
    return is_single ? LL_PRESENCE_EXACT : LL_PRESENCE_COARSE;
}

enum ll_presence_verdict ll_presence_try(uint64_t* touch_ns) {
    struct ll_presence presence = {.pagemap = -1, .faults = LL_NO_FAULTS};
    size_t size = (size_t)TRIAL_PAGES * LL_PAGE_SIZE;
    enum ll_presence_verdict verdict = LL_PRESENCE_NONE;
    long file = ll_syscall(SYS_memfd_create, "leakline-trial", MFD_CLOEXEC);
    if (file < 0) {
        return LL_PRESENCE_NONE;
    }
    if (ll_syscall(SYS_ftruncate, file, size) == 0 && ll_presence_open(&presence)) {
        long pages = ll_syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                                MAP_SHARED, file, 0);
        if (pages > 0) {
            verdict = judge(&presence, (char*)pages, touch_ns);
            ll_memory_unmap((void*)pages, size);
        }
        ll_presence_close(&presence);
    }
    ll_file_close((int)file);
    return verdict;
}
