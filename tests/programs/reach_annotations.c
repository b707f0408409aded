// Annotations that code already carries for LeakSanitizer.
#include "corpus.h"

void __lsan_ignore_object(const void*) __attribute__((weak));
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));
void __lsan_register_root_region(const void*, size_t) __attribute__((weak));

CASE void ignored_object_ok(void) {
    void** block = malloc(90);
    block[0] = malloc(91);
    if (__lsan_ignore_object) {
        __lsan_ignore_object(block);
    }
    KEEP(block);
}

// Reported by the checker: the program asks only runs to look away.
CASE void FP_disabled_ok(void) {
    if (__lsan_disable) {
        __lsan_disable();
    }
    KEEP(malloc(92));
    if (__lsan_enable) {
        __lsan_enable();
    }
}

CASE void after_enable_bad(void) {
    KEEP(malloc(93));
}

// Missed by the checker: handed to a function whose source is not there.
CASE void** FN_root_region_bad(void) {
    return calloc(512, sizeof(void*));
}

CASE void* held_by_root_region_ok(void) {
    return malloc(94);
}

// A root region conducts, but its own block is as lost as any other.
static void root_region(void) {
    void** region = FN_root_region_bad();
    if (__lsan_register_root_region) {
        __lsan_register_root_region(region, 4096);
    }
    region[7] = held_by_root_region_ok();
    KEEP(region);
}

int main(void) {
    ignored_object_ok();
    FP_disabled_ok();
    after_enable_bad();
    root_region();
    scrub();
    return 0;
}
