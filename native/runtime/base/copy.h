// Copies and clears by one instruction. The C library's functions may be patched: they
// would note the references in what they overwrite as lost.
#pragma once
#include <stddef.h>

#include "base/attributes.h"

LL_INLINE void ll_copy(void* to, const void* from, size_t size_bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_bytes) : : "memory");
}

LL_INLINE void ll_clear(void* start, size_t size_bytes) {
    __asm__ volatile("rep stosb" : "+D"(start), "+c"(size_bytes) : "a"(0) : "memory");
}
