// Addresses that are compiled into trampolines and into the hooks they call; the Python
// side that writes trampolines has the same numbers (patching/trampolines.py).
#pragma once

// Bits 40..55 of every heap pointer while the program is patched.
#define LL_HEAP_TAG 0x11

// From a granule of the heap to its stamp. Off a power of two, so that a block and its
// stamp do not compete for the same cache set.
#define LL_SHADOW_DELTA 0x10000001000

// The clock that orders losses, in the page before the shadow.
#define LL_LOSS_CLOCK 0x120000000800

// Beside it, for code that was compiled to stamp: how it has to count.
#define LL_LOSS_MODE (LL_LOSS_CLOCK + 8)

// Where trampolines find the addresses of the hooks: within reach of a 32-bit address.
#define LL_HOOK_TABLE 0x7fe00000
