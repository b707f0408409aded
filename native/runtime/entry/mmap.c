// Mappings of the program, as far as the roots and lenses need to know: a new one that
// lies where the stack of an ended thread was is memory like any other, what goes takes
// references with it, and code that is made at run time has no plan.
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "entry/arming.h"
#include "entry/site.h"
#include "lens/roots.h"
#include "lens/stamps.h"
#include "lens/touches.h"
#include "os/syscall.h"

// Memory that a fixed mapping replaces is gone as if it had been unmapped.
#define WILL_REPLACE(wanted, size_bytes, flags)                                        \
    do {                                                                               \
        if (LL_UNLIKELY(ll_stamps_on) && ((flags) & MAP_FIXED) != 0) {                 \
            ll_stamp_unmapped((uintptr_t)(wanted), (size_bytes), LL_SITE());           \
        }                                                                              \
        if (((flags) & MAP_FIXED) != 0) {                                              \
            leave_code((wanted), (size_bytes));                                        \
        }                                                                              \
    } while (0)

static void notice_code(int protection) {
    if (LL_UNLIKELY(ll_touches_on) && (protection & PROT_EXEC) != 0) {
        ll_arming_code_is_made();
    }
}

// Code of the program's files is about to be written, replaced or unmapped: what lies
// there then is the program's own.
static void leave_code(const void* start, size_t size_bytes) {
    if (LL_UNLIKELY(ll_touches_on)) {
        ll_arming_code_is_changed(start, size_bytes);
    }
}

static void* finish(long result, size_t size_bytes) {
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return MAP_FAILED;
    }
    ll_roots_mapped((uintptr_t)result, (uintptr_t)result + size_bytes);
    return (void*)result;
}

LL_EXPORT void* mmap(void* wanted, size_t size_bytes, int protection, int flags,
                     int file, off_t offset) {
    WILL_REPLACE(wanted, size_bytes, flags);
    notice_code(protection);
    return finish(
        ll_syscall(SYS_mmap, wanted, size_bytes, protection, flags, file, offset),
        size_bytes);
}

LL_EXPORT void* mmap64(void* wanted, size_t size_bytes, int protection, int flags,
                       int file, off64_t offset) {
    WILL_REPLACE(wanted, size_bytes, flags);
    notice_code(protection);
    return finish(
        ll_syscall(SYS_mmap, wanted, size_bytes, protection, flags, file, offset),
        size_bytes);
}

LL_EXPORT int mprotect(void* start, size_t size_bytes, int protection) {
    notice_code(protection);
    if ((protection & PROT_WRITE) != 0) {
        leave_code(start, size_bytes);
    }
    long result = ll_syscall(SYS_mprotect, start, size_bytes, protection);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return 0;
}

LL_EXPORT int munmap(void* start, size_t size_bytes) {
    if (LL_UNLIKELY(ll_stamps_on)) {
        ll_stamp_unmapped((uintptr_t)start, size_bytes, LL_SITE());
    }
    leave_code(start, size_bytes);
    long result = ll_syscall(SYS_munmap, start, size_bytes);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return 0;
}

LL_EXPORT void* mremap(void* old, size_t old_size, size_t new_size, int flags, ...) {
    void* wanted = NULL;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list list;
        va_start(list, flags);
        wanted = va_arg(list, void*);
        va_end(list);
    }
    if (LL_UNLIKELY(ll_stamps_on) && new_size < old_size) {
        ll_stamp_unmapped((uintptr_t)old + new_size, old_size - new_size, LL_SITE());
    }
    leave_code(old, old_size);
    WILL_REPLACE(wanted, new_size, wanted != NULL ? MAP_FIXED : 0);
    void* moved = finish(ll_syscall(SYS_mremap, old, old_size, new_size, flags, wanted),
                         new_size);
    if (LL_UNLIKELY(ll_stamps_on) && moved != MAP_FAILED) {
        size_t kept = old_size < new_size ? old_size : new_size;
        ll_stamp_moved((uintptr_t)old, (uintptr_t)moved, kept);
    }
    return moved;
}
