// Where the loader starts us, before every other constructor, and where exit ends:
// handlers registered first run last, after all destructors of the program and its
// libraries.
#include "entry/start.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/options.h"
#include "entry/fork.h"
#include "entry/last_look.h"
#include "entry/patching.h"
#include "entry/real.h"
#include "entry/signals.h"
#include "entry/threads.h"
#include "format/records.h"
#include "heap/inspect.h"
#include "process/process.h"

int __cxa_at_quick_exit(void (*function)(void*), void* dso);

static void at_exit(int status, void* unused) {
    (void)unused;
    struct ll_occasion here =
        LL_OCCASION_HERE(LL_TRIGGER_exit, (uint32_t)status & 0xff);
    ll_last_look(&here);
}

static void at_quick_exit_last(void* unused) {
    (void)unused;
    struct ll_occasion here =
        LL_OCCASION_HERE(LL_TRIGGER_quick_exit, LL_STATUS_UNKNOWN);
    ll_last_look(&here);
}

// The bounds of this library, as the linker defines them.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

typedef void* allocate_function(size_t size);

// The address of an undefined symbol is a stub of a program that is linked to a fixed
// place, which leads to whoever serves malloc; a call tells who that is.
static bool is_stub_of_ours(allocate_function* serving) {
    Dl_info module;
    const ElfW(Sym)* symbol = NULL;
    if (dladdr1((const void*)serving, &module, (void**)&symbol, RTLD_DL_SYMENT) == 0 ||
        symbol == NULL || symbol->st_shndx != SHN_UNDEF) {
        return false;
    }
    void* block = serving(1);
    bool is_ours = ll_is_heap_address((uintptr_t)block);
    if (is_ours) {
        free(block);
    }
    return is_ours;
}

// A program may carry or preload its own malloc; then ours serves only what is called
// by other names.
static void note_other_allocator(void) {
    allocate_function* serving = (allocate_function*)dlsym(RTLD_DEFAULT, "malloc");
    uintptr_t address = (uintptr_t)serving;
    bool is_in_library =
        address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_end;
    if (!is_in_library && !is_stub_of_ours(serving)) {
        ll_process_note_not_seen(LL_NOT_SEEN_allocator, 0,
                                 "another allocator than Leakline's serves malloc");
    }
}

__attribute__((constructor)) static void start(int count, char** arguments,
                                               char** environment) {
    (void)count;
    (void)arguments;
    ll_process_start();
    ll_real();
    ll_threads_start();
    ll_fork_start();
    if (!ll_options.children) {
        ll_environment_leave(environment);
    }
    if (ll_process_is_watched()) {
        on_exit(at_exit, NULL);
        __cxa_at_quick_exit(at_quick_exit_last, NULL);
        ll_signals_start();
        note_other_allocator();
        ll_patching_start();
    }
}
