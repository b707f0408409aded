// Addresses that are compiled into trampolines and into the hooks they call; the Python
// side that writes trampolines has the same numbers (patching/addresses.py).
#pragma once

// Bits 40..55 of every heap pointer while the program is patched. Half of such an
// address lies above what AddressSanitizer keeps for itself.
#define LL_HEAP_TAG 0x22

// Stamps lie at half the address of what they are of: one for each granule of the heap.
#define LL_GRANULE_BYTES 32
#define LL_STAMP_BYTES 16

// Where trampolines find the addresses of the hooks: within reach of a 32-bit address.
#define LL_HOOK_TABLE 0x7fe00000

// The page behind it, a struct ll_loss_page, begins with the clock that orders losses.
#define LL_LOSS_PAGE 0x7fe01000
#define LL_LOSS_CLOCK LL_LOSS_PAGE
#define LL_STAMP_LIMIT (LL_LOSS_PAGE + 32)
#define LL_MINUS_HEAP_START (LL_LOSS_PAGE + 40)
#define LL_SHADOW_START (LL_LOSS_PAGE + 48)
