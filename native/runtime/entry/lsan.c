// The interface of LeakSanitizer (sanitizer/lsan_interface.h), for programs that
// already carry its annotations, and what a program may define for it.
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "entry/last_look.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/roots.h"
#include "process/process.h"

// Defined by the program, if at all.
__attribute__((weak)) const char* __lsan_default_suppressions(void);
__attribute__((weak)) int __lsan_is_turned_off(void);

LL_EXPORT void __lsan_ignore_object(const void* block);
LL_EXPORT void __lsan_disable(void);
LL_EXPORT void __lsan_enable(void);
LL_EXPORT void __lsan_register_root_region(const void* start, size_t size_bytes);
LL_EXPORT void __lsan_unregister_root_region(const void* start, size_t size_bytes);
LL_EXPORT void __lsan_do_leak_check(void);
LL_EXPORT int __lsan_do_recoverable_leak_check(void);

// How many more times the thread called disable than enable.
static LL_THREAD_LOCAL unsigned disabled;

void __lsan_ignore_object(const void* block) {
    ll_heap_ignore(block);
}

void __lsan_disable(void) {
    if (disabled++ == 0) {
        ll_heap_ignore_new(true);
    }
}

void __lsan_enable(void) {
    if (disabled != 0 && --disabled == 0) {
        ll_heap_ignore_new(false);
    }
}

void __lsan_register_root_region(const void* start, size_t size_bytes) {
    ll_roots_add(start, size_bytes);
}

void __lsan_unregister_root_region(const void* start, size_t size_bytes) {
    ll_roots_remove(start, size_bytes);
}

void __lsan_do_leak_check(void) {
    struct ll_occasion here = LL_OCCASION_HERE(LL_TRIGGER_program, 0);
    ll_process_look(&here);
}

int __lsan_do_recoverable_leak_check(void) {
    struct ll_occasion here = LL_OCCASION_HERE(LL_TRIGGER_program, 0);
    return ll_process_look(&here) != 0;
}

void ll_last_look(const struct ll_occasion* occasion) {
    if (!ll_process_is_watched()) {
        return;
    }
    if (__lsan_is_turned_off != NULL && __lsan_is_turned_off() != 0) {
        ll_process_note_not_seen(LL_NOT_SEEN_options, 0,
                                 "the program turned the check off");
        return;
    }
    if (__lsan_default_suppressions != NULL) {
        ll_process_note_suppressions(__lsan_default_suppressions());
    }
    ll_process_look(occasion);
}
