#include "lens/injector.h"

#include <time.h>

#include "base/attributes.h"
#include "base/options.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/stack_records.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "record/recording.h"
#include "stack/stack.h"

enum { SKIPS_MAX = 1 << 22, PER_MILLE = 1000 };

struct skip {
    uint64_t address;
    uint64_t size_bytes;
    uint32_t site;       // of the allocation
    uint32_t freed_site; // who wanted to free it; 0 while the entry is being made
    uint64_t cpu_ns;
};

uint8_t ll_releases_watched;

static struct skip* skips;
static uint32_t skip_count;
static uint32_t thread_count;
static LL_THREAD_LOCAL uint32_t thread_number;
static LL_THREAD_LOCAL uint64_t frees;

void ll_injector_start(void) {
    if (ll_options.skip_free == 0) {
        return;
    }
    // Pages appear as they are touched.
    skips = ll_memory_map(SKIPS_MAX * sizeof *skips);
    if (skips != NULL) {
        ll_stack_keep_nodes();
        ll_releases_watched |= LL_RELEASES_SKIPPED;
    }
}

static uint64_t mix(uint64_t value) {
    value ^= value >> 33;
    value *= UINT64_C(0xff51afd7ed558ccd);
    value ^= value >> 33;
    value *= UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 33;
}

static bool is_chosen(void) {
    if (thread_number == 0) {
        thread_number = __atomic_add_fetch(&thread_count, 1, __ATOMIC_RELAXED);
    }
    uint64_t turn = (uint64_t)thread_number << 40 ^ frees++;
    return mix(ll_options.skip_free_seed * UINT64_C(0x9e3779b97f4a7c15) ^ turn) %
               PER_MILLE <
           ll_options.skip_free;
}

static uint64_t cpu_ns(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool note(void* block, size_t size_bytes, uint32_t site) {
    uint32_t index = __atomic_fetch_add(&skip_count, 1, __ATOMIC_RELAXED);
    if (index >= SKIPS_MAX) {
        return false;
    }
    skips[index] = (struct skip){
        .address = (uint64_t)block,
        .size_bytes = size_bytes,
        .site = ll_heap_site(block),
        .cpu_ns = cpu_ns(),
    };
    __atomic_store_n(&skips[index].freed_site, site, __ATOMIC_RELEASE);
    return true;
}

bool ll_injector_skips(void* block, uint32_t site) {
    size_t size = ll_heap_requested_size(block);
    return size >= ll_options.skip_free_least && size <= ll_options.skip_free_most &&
           is_chosen() && ll_heap_is_block(block) && note(block, size, site);
}

void ll_injector_write(void) {
    uint32_t count = skip_count < SKIPS_MAX ? skip_count : SKIPS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct ll_record_skipped_free record = {
            .stack = skips[i].site,
            .freed = skips[i].freed_site,
            .address = skips[i].address,
            .size = skips[i].size_bytes,
            .cpu_ms = skips[i].cpu_ns / 1000000,
        };
        ll_stack_records_write(record.stack);
        ll_stack_records_write(record.freed);
        ll_record(LL_RECORD_skipped_free, &record, sizeof record, NULL, 0);
    }
}
