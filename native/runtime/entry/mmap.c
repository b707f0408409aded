// New mappings of the program, as far as the roots need to know: one that lies where
// the stack of an ended thread was is memory like any other.
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "lens/roots.h"
#include "os/syscall.h"

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
    return finish(
        ll_syscall(SYS_mmap, wanted, size_bytes, protection, flags, file, offset),
        size_bytes);
}

LL_EXPORT void* mmap64(void* wanted, size_t size_bytes, int protection, int flags,
                       int file, off64_t offset) {
    return finish(
        ll_syscall(SYS_mmap, wanted, size_bytes, protection, flags, file, offset),
        size_bytes);
}

LL_EXPORT void* mremap(void* old, size_t old_size, size_t new_size, int flags, ...) {
    void* wanted = NULL;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list list;
        va_start(list, flags);
        wanted = va_arg(list, void*);
        va_end(list);
    }
    return finish(ll_syscall(SYS_mremap, old, old_size, new_size, flags, wanted),
                  new_size);
}
