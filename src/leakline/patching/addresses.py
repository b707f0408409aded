"""Addresses that are compiled into trampolines.

The runtime has the same numbers (native/runtime/patch/shadow.h). All of them lie below
2 GiB, within reach of an instruction anywhere.
"""

# Bits 40..55 of every heap pointer; the runtime takes this range for the heap when it
# patches.
HEAP_TAG = 0x22

# A page of pointers to the hooks, by their number.
HOOK_TABLE = 0x7FE00000

# The page behind it begins with the clock that orders losses.
LOSS_CLOCK = 0x7FE01000
# Old pointers less than so far into the heap may be stamped without a hook; 0 when none
# may.
STAMP_LIMIT = LOSS_CLOCK + 32
# The start of the heap, negated: to be added to a pointer.
MINUS_HEAP_START = LOSS_CLOCK + 40
# The stamp of the first granule.
SHADOW_START = LOSS_CLOCK + 48
