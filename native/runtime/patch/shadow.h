// Addresses that are compiled into trampolines; the Python side that writes them has
// the same numbers (patching/trampolines.py).
#pragma once
#include <stdint.h>

// Bits 40..55 of every heap pointer while the program is patched.
#define LL_HEAP_TAG 0x11

// From a granule of the heap to its stamp. Off a power of two, so that a block and its
// stamp do not compete for the same cache set.
#define LL_SHADOW_DELTA (((uint64_t)1 << 40) + 0x1000)

// The clock that orders losses, in the page before the shadow.
#define LL_LOSS_CLOCK (((uint64_t)(LL_HEAP_TAG + 1) << 40) + 0x800)
