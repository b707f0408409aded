"""Writes the code that stamps what a store of one word is about to overwrite.

Losses are so frequent that a call for each would cost more than all the rest: only what
needs a closer look is left to a hook, that is slots that may lie on the stack, pointers
to parts of the heap that are new, and everything while the process has threads.
"""

from dataclasses import dataclass

from leakline.patching.addresses import (
    LOSS_CLOCK,
    MINUS_HEAP_START,
    SHADOW_START,
    STAMP_LIMIT,
)
from leakline.patching.assembler import (
    RAX,
    RCX,
    RED_ZONE,
    Assembler,
    load_return_address,
    load_slot,
)
from leakline.patching.stores import Store

_LOSE_WORD_HOOK = 0
_PUSHED = RED_ZONE + 16


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A stamp whose way through the hook is not yet written.

    Attributes:
        store: What it stamps for.
        jumps: Ends of the short jumps to that way.
        place_loaded: End of the instruction that loads the place, which is the address
            behind the call, as it is for the hook.
        done: Address of the code to go on with.
    """

    store: Store
    jumps: tuple[int, ...]
    place_loaded: int
    done: int


def stamp(assembler: Assembler, store: Store) -> Unfinished:
    """Append the stamp of one word; it changes nothing but flags.

    The slot's address stays in rax until it is known that no hook is needed.
    """
    assembler.raw("4883c480 50 51")  # add rsp, -128; push rax; push rcx
    load_slot(assembler, store.operand)
    jumps = []
    if not store.operand.relative:
        # mov rcx, rax; sub rcx, rsp; shr rcx, 23; jz: within 8 MiB above the pointer
        assembler.raw("4889c1 4829e1 48c1e917 7400")
        jumps.append(len(assembler.code))
    assembler.absolute("8b", RCX, MINUS_HEAP_START)
    assembler.raw("480308")  # add rcx, [rax]
    assembler.absolute("3b", RCX, STAMP_LIMIT)
    assembler.raw("7300")  # jae
    jumps.append(len(assembler.code))
    place_loaded = _write_stamp(assembler, store)
    done = assembler.here
    assembler.raw("59 58 4883ec80")  # pop rcx; pop rax; sub rsp, -128
    return Unfinished(store, tuple(jumps), place_loaded, done)


def finish(assembler: Assembler, stamp: Unfinished) -> None:
    """Append the way through the hook, out of the way of what follows the stamp."""
    for jump in stamp.jumps:
        assembler.land(jump)
    load_return_address(assembler, RCX, stamp.store, _PUSHED)
    assembler.call(_LOSE_WORD_HOOK, stamp.store)
    assembler.lead(stamp.place_loaded, assembler.here)
    assembler.jump_near(stamp.done)


def _write_stamp(assembler: Assembler, store: Store) -> int:
    """Append the stores of the stamp of the granule so far into the heap as rcx says.

    Returns the end of the load of the place.
    """
    assembler.raw("48d1e9 4883e1f0")  # shr rcx, 1; and rcx, -16
    assembler.absolute("03", RCX, SHADOW_START)
    assembler.absolute("ff", 0, LOSS_CLOCK)  # inc
    assembler.absolute("8b", RAX, LOSS_CLOCK)
    assembler.raw("488901")  # mov [rcx], rax
    load_return_address(assembler, RAX, store, _PUSHED)
    assembler.raw("48894106")  # mov [rcx + 6], rax
    assembler.raw("488d0500000000")  # lea rax, [place]
    place_loaded = len(assembler.code)
    assembler.raw("89410c")  # mov [rcx + 12], eax
    return place_loaded
