#include "lens/delays.h"

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "heap/heap.h"
#include "lens/injector.h"
#include "os/lock.h"

// Larger blocks are freed at once, so that 64 MiB are kept at most.
enum { BLOCKS_KEPT = 1024, LARGEST_BYTES = 64 << 10 };

// A ring: `next` is the oldest, which is freed for the next one to come.
static LL_BULK void* kept[BLOCKS_KEPT];
static uint32_t next;
static struct ll_lock lock;

void ll_delays_start(void) {
    ll_releases_watched |= LL_RELEASES_DELAYED;
}

static bool is_kept(const void* block) {
    for (uint32_t i = 0; i < BLOCKS_KEPT; i++) {
        if (kept[i] == block) {
            return true;
        }
    }
    return false;
}

// A handler that interrupts the holder of the lock, and a child whose parent held it,
// free at once.
bool ll_delays_keep(void* block) {
    size_t size_bytes = ll_heap_requested_size(block);
    if (size_bytes == 0 || size_bytes > LARGEST_BYTES || !ll_lock_try(&lock)) {
        return false;
    }
    void* oldest = NULL;
    // The program may free a block twice, which does nothing.
    if (!is_kept(block)) {
        oldest = kept[next];
        kept[next] = block;
        next = (next + 1) % BLOCKS_KEPT;
    }
    ll_lock_drop(&lock);
    if (oldest != NULL) {
        ll_heap_release(oldest);
    }
    return true;
}
