// Advice of the program about memory of the heap. With lens `pages` a file lies behind
// the heap, and advice that empties ordinary memory would leave it as it is.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/attributes.h"
#include "heap/inspect.h"
#include "heap/page_states.h"
#include "os/backing.h"
#include "os/memory.h"
#include "os/shelves.h"
#include "os/syscall.h"

static bool is_backed(uintptr_t start, size_t size_bytes) {
    return ll_backing_is_on() && ll_is_heap_address(start) &&
           start % LL_PAGE_SIZE == 0 && size_bytes > 0;
}

static void clear_piece(uintptr_t start, size_t size_bytes) {
    if (ll_backing_purge(start, size_bytes)) {
        ll_page_states_end_watch(start, size_bytes);
    } else {
        memset((void*)start, 0, size_bytes);
    }
}

// A merged page is none that the program could have asked for as a whole.
static int clear(uintptr_t start, size_t size_bytes) {
    uintptr_t end = (start + size_bytes + LL_PAGE_SIZE - 1) & ~(LL_PAGE_SIZE - 1UL);
    while (start < end) {
        uintptr_t piece_end = ll_shelves_piece_end(start, end);
        if (!ll_shelves_is_merged(start)) {
            clear_piece(start, piece_end - start);
        }
        start = piece_end;
    }
    return 0;
}

LL_EXPORT int madvise(void* start, size_t size_bytes, int advice) {
    if (LL_UNLIKELY(is_backed((uintptr_t)start, size_bytes))) {
        switch (advice) {
        case MADV_DONTNEED:
            return clear((uintptr_t)start, size_bytes);
        case MADV_FREE:     // permits to keep the contents
        case MADV_HUGEPAGE: // one huge page would hide which part of it is used
            return 0;
        default:
            break;
        }
    }
    long result = ll_syscall(SYS_madvise, start, size_bytes, advice);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return 0;
}
