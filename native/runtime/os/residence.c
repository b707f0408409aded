#include "os/residence.h"

#include <fcntl.h>
#include <string.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"

// Bits of a pagemap entry.
static const uint64_t present = 1ULL << 63;
static const uint64_t swapped = 1ULL << 62;
// Page of a file, or of shared memory: in a private mapping, one never written to.
static const uint64_t of_file = 1ULL << 61;

// True unless the kernel says that nothing of this process is swapped out.
static bool some_swapped_out(void) {
    char text[4096];
    int file = ll_file_open("/proc/self/status", O_RDONLY);
    long length = file < 0 ? 0 : ll_file_read(file, text, sizeof text - 1);
    if (file >= 0) {
        ll_file_close(file);
    }
    text[length > 0 ? length : 0] = '\0';
    const char* line = strstr(text, "VmSwap:");
    return line == NULL || strspn(line + 7, " \t0k") < strcspn(line + 7, "B");
}

void ll_residence_open(struct ll_residence* residence) {
    memset(residence, 0, sizeof *residence);
    residence->pagemap = ll_file_open("/proc/self/pagemap", O_RDONLY);
    residence->private_source = residence->pagemap >= 0 ? LL_RESIDENCE_PAGEMAP
                                : some_swapped_out()    ? LL_RESIDENCE_ALL
                                                        : LL_RESIDENCE_MINCORE;
}

void ll_residence_close(struct ll_residence* residence) {
    if (residence->pagemap >= 0) {
        ll_file_close(residence->pagemap);
    }
}

// Each returns the number of pages it found out about, 0 when the kernel refuses.
static size_t ask_pagemap(struct ll_residence* residence, size_t pages) {
    uint64_t entries[LL_RESIDENCE_WINDOW];
    long got = ll_file_read_at(residence->pagemap, entries, pages * sizeof *entries,
                               residence->window / LL_PAGE_SIZE * sizeof *entries);
    size_t known = got < 0 ? 0 : (size_t)got / sizeof *entries;
    for (size_t i = 0; i < known; i++) {
        residence->resident[i] =
            (entries[i] & (present | swapped)) != 0 && (entries[i] & of_file) == 0;
    }
    return known;
}

static size_t ask_mincore(struct ll_residence* residence, size_t pages) {
    uint8_t answers[LL_RESIDENCE_WINDOW];
    if (ll_syscall(SYS_mincore, residence->window, pages * LL_PAGE_SIZE, answers) !=
        0) {
        return 0;
    }
    for (size_t i = 0; i < pages; i++) {
        residence->resident[i] = (answers[i] & 1) != 0;
    }
    return pages;
}

static void move_window(struct ll_residence* residence, uintptr_t start, uintptr_t end,
                        enum ll_residence_source source) {
    size_t pages = (end - start) / LL_PAGE_SIZE;
    pages = pages < LL_RESIDENCE_WINDOW ? pages : LL_RESIDENCE_WINDOW;
    residence->window = start;
    residence->window_source = source;
    size_t known = source == LL_RESIDENCE_PAGEMAP   ? ask_pagemap(residence, pages)
                   : source == LL_RESIDENCE_MINCORE ? ask_mincore(residence, pages)
                                                    : 0;
    if (known == 0) {
        known = pages;
        memset(residence->resident, 1, pages);
    }
    residence->window_pages = known;
}

static bool is_resident(struct ll_residence* residence, uintptr_t page, uintptr_t end,
                        enum ll_residence_source source) {
    uintptr_t index = (page - residence->window) / LL_PAGE_SIZE;
    if (source != residence->window_source || page < residence->window ||
        index >= residence->window_pages) {
        move_window(residence, page, end, source);
        index = 0;
    }
    return residence->resident[index];
}

uintptr_t ll_residence_first(struct ll_residence* residence,
                             enum ll_residence_source source, uintptr_t start,
                             uintptr_t end) {
    uintptr_t page = start;
    while (page < end && !is_resident(residence, page, end, source)) {
        page += LL_PAGE_SIZE;
    }
    return page;
}

bool ll_residence_next(struct ll_residence* residence, enum ll_residence_source source,
                       uintptr_t start, uintptr_t end, uintptr_t* run_start,
                       uintptr_t* run_end) {
    uintptr_t page = ll_residence_first(residence, source, start, end);
    *run_start = page;
    while (page < end && is_resident(residence, page, end, source)) {
        page += LL_PAGE_SIZE;
    }
    *run_end = page;
    return *run_start < end;
}
