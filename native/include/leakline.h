// What a program can tell Leakline about its memory. The functions do nothing when the
// program runs without Leakline, and nothing has to be linked.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Only the address counts: the memory itself is not read and need not be initialised.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define LEAKLINE_ADDRESS_ONLY __attribute__((weak, access(none, 1)))
#else
#define LEAKLINE_ADDRESS_ONLY __attribute__((weak))
#endif

LEAKLINE_ADDRESS_ONLY void __leakline_ignore(const void* block);
LEAKLINE_ADDRESS_ONLY void __leakline_root(const void* start, size_t size_bytes);
LEAKLINE_ADDRESS_ONLY void __leakline_root_end(const void* start, size_t size_bytes);
__attribute__((weak)) unsigned long __leakline_mark(void);

// The block is meant to stay: it is never reported, nor is what it leads to.
static inline void leakline_ignore(const void* block) {
    if (__leakline_ignore != NULL) {
        __leakline_ignore(block);
    }
}

// Pointers in this memory count as references although Leakline would not look there,
// for example in memory that a device or another process maps.
static inline void leakline_root(const void* start, size_t size_bytes) {
    if (__leakline_root != NULL) {
        __leakline_root(start, size_bytes);
    }
}

static inline void leakline_root_end(const void* start, size_t size_bytes) {
    if (__leakline_root_end != NULL) {
        __leakline_root_end(start, size_bytes);
    }
}

// Takes a snapshot here and now. Returns the number of lost blocks, 0 without Leakline.
static inline unsigned long leakline_mark(void) {
    return __leakline_mark != NULL ? __leakline_mark() : 0;
}

#ifdef __cplusplus
}
#endif
