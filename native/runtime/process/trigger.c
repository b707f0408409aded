#include "process/trigger.h"

#include <sys/uio.h>

#include "os/syscall.h"

enum { WORDS_MAX = 8 };

static uintptr_t slot_of(const struct ll_watch_store* store, uintptr_t bias,
                         const struct ll_registers* registers) {
    uintptr_t slot = (uintptr_t)store->displacement;
    bool has_base = store->base != LL_WATCH_NO_REGISTER;
    bool has_index = store->index != LL_WATCH_NO_REGISTER;
    slot += has_base ? registers->general[store->base] : 0;
    slot += has_index ? registers->general[store->index] * store->scale : 0;
    return has_base || has_index ? slot : slot + bias;
}

// By a system call, which fails where a load would raise a signal: the store itself may
// be about to.
static bool read_words(uintptr_t start, uint64_t* words, size_t size_bytes) {
    struct iovec local = {words, size_bytes};
    struct iovec remote = {(void*)start, size_bytes};
    long self = ll_syscall(SYS_getpid);
    return ll_syscall(SYS_process_vm_readv, self, &local, 1, &remote, 1, 0) ==
           (long)size_bytes;
}

bool ll_trigger_overwrites(const struct ll_watch_store* store, uintptr_t bias,
                           const struct ll_registers* registers, uintptr_t start,
                           uintptr_t end) {
    uint64_t words[WORDS_MAX];
    if (!read_words(slot_of(store, bias, registers), words, store->size_bytes)) {
        return false;
    }
    for (unsigned i = 0; i < store->size_bytes / sizeof *words; i++) {
        if (words[i] - start <= end - start) {
            return true;
        }
    }
    return false;
}
