"""Writes the code that a patched store jumps to.

Layout and meaning: native/format/plan.md. The first part tests and stores; it touches no
register and, where the flags are dead, saves nothing. What a loss takes lies apart from
it, in a place that need not be near the store.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leakline.patching.addresses import HEAP_TAG
from leakline.patching.assembler import (
    RAX,
    RCX,
    RED_ZONE,
    Assembler,
    Step,
    load_return_address,
    load_slot,
)
from leakline.patching.eviction import Plain
from leakline.patching.masks import Mask
from leakline.patching.stamping import finish, stamp
from leakline.patching.stores import Store

# Numbers of hooks: by the words of a store, by the steps of a string instruction, and by
# the lanes of a vector.
WORD_HOOKS = {1: 0, 2: 1, 4: 2, 8: 3}
ONE_STEP_HOOK = 4
REPEATED_HOOKS = {1: 5, 2: 6, 4: 7, 8: 8}
BIRTH_HOOKS = {1: 9, 2: 10, 4: 11, 8: 12}
LANE_HOOKS = {1: 13, 2: 14, 4: 15, 8: 16}
COPIED_STEP_HOOK = 17
COPIED_HOOKS = {1: 18, 2: 19, 4: 20, 8: 21}


@dataclass(frozen=True, slots=True)
class Trampoline:
    """Finished code.

    Attributes:
        code: What the patched instruction leads to.
        lost: What that leads to when a reference is lost, if it lies apart.
        places: What a stamp tells of each store, and the store's address: the place is
            the address behind the call of the hook.
    """

    code: bytes
    lost: bytes = b""
    places: tuple[tuple[int, int], ...] = ()


def trampoline(steps: Sequence[Step], address: int) -> Trampoline:
    """Return code that runs some instructions, to be placed at an address in one piece.

    Args:
        steps: Neighbours, in their order.
        address: Of the trampoline. Its size does not depend on it.

    Raises:
        OverflowError: Something cannot be reached from there.
    """
    try:
        return _write(steps, address, None)
    except OverflowError:
        # What a loss takes may just be too far for short jumps.
        lost_address = address + len(_write(steps, address, address).code)
        made = _write(steps, address, lost_address)
        return Trampoline(made.code + made.lost, places=made.places)


def parted_trampoline(
    steps: Sequence[Step], address: int, lost_address: int
) -> Trampoline:
    """Return the same in two pieces, what a loss takes at an address of its own.

    Raises:
        OverflowError: Something cannot be reached from there.
    """
    return _write(steps, address, lost_address)


def _write(steps: Sequence[Step], address: int, lost_address: int | None) -> Trampoline:
    is_near = lost_address is None
    assembler = Assembler(address)
    checks = []
    for step in steps:
        if isinstance(step, Plain):
            assembler.move(step)
        else:
            checks += _checked_store(assembler, step, is_near=is_near)
    last = steps[-1]
    assembler.jump(last.address + len(last.code))
    if checks and checks[-1].store is last and not last.bears:
        checks[-1] = replace(checks[-1], is_last=True)
    if lost_address is None:
        for check in checks:
            _land_here(assembler, check)
            _lose(assembler, check)
        return Trampoline(bytes(assembler.code), places=tuple(assembler.places))
    lost = Assembler(lost_address)
    for check in checks:
        _lead_to(assembler, check, lost.here)
        _lose(lost, check)
    places = assembler.places + lost.places
    return Trampoline(bytes(assembler.code), bytes(lost.code), tuple(places))


def _land_here(assembler: Assembler, check: "_Check") -> None:
    for hit in check.hits:
        assembler.land(hit)


def _lead_to(assembler: Assembler, check: "_Check", target: int) -> None:
    """Let the jumps of a check lead to an address, short ones by a long one."""
    hits = check.hits
    if check.is_short:
        _land_here(assembler, check)
        assembler.raw("e900000000")
        hits = (len(assembler.code),)
    for hit in hits:
        assembler.lead(hit, target)


@dataclass(frozen=True, slots=True)
class _Check:
    """A test of the words that a store overwrites, or has written.

    Attributes:
        store: The store.
        hook: Number of the hook to call.
        hits: Ends of its jumps to what a loss takes.
        resume: Address where that goes on.
        flags_dead: Nobody reads the arithmetic flags there.
        written: Number of the register that the store writes, when the check comes
            before it and the flags are dead.
        is_last: Nothing follows but the store and the jump back, of which the part for
            losses has a copy of its own.
        is_short: Its jumps are, and reach only what is near.
        is_near: What a loss takes is in the same piece of code as all the rest.
    """

    store: Store
    hook: int
    hits: tuple[int, ...]
    resume: int
    flags_dead: bool
    written: int | None = None
    is_last: bool = False
    is_short: bool = False
    is_near: bool = False


def _checked_store(
    assembler: Assembler, store: Store, *, is_near: bool
) -> list[_Check]:
    """Append a store with the tests around it."""
    if store.unit_bytes:
        _lose_string(assembler, store)
        assembler.move(store)
        return []
    if store.mask:
        _lose_lanes(assembler, store, store.mask)
        assembler.move(store)
        return []
    check = _check if store.flags_dead else _check_without_flags
    written = store.source if store.flags_dead else None
    before = check(assembler, store, WORD_HOOKS[store.words], is_near=is_near)
    checks = [replace(before, written=written)]
    assembler.move(store)
    if store.bears:
        check = check if store.keeps_flags else _check_without_flags
        hook = BIRTH_HOOKS[store.words]
        checks.append(check(assembler, store, hook, is_near=is_near))
    return checks


def _check(assembler: Assembler, store: Store, hook: int, *, is_near: bool) -> _Check:
    hits = []
    for word in range(store.words):
        assembler.memory(
            "83",
            7,
            store.operand,
            offset=8 * word + 5,
            prefix=b"\x66",
            tail=bytes([HEAP_TAG]),
        )  # cmp word [slot + 5], HEAP_TAG
        assembler.raw("7400" if is_near else "0f8400000000")  # je lost
        hits.append(len(assembler.code))
    return _Check(
        store, hook, tuple(hits), assembler.here, flags_dead=True, is_near=is_near
    )


def _check_without_flags(
    assembler: Assembler, store: Store, hook: int, *, is_near: bool
) -> _Check:
    """Append the test by jrcxz; its jumps leave rcx pushed below the red zone."""
    assembler.raw("488d642480 51")  # lea rsp, [rsp - 128]; push rcx
    is_short = is_near or not store.bears or store.words <= _NEAR_WORDS
    hits = []
    for word in range(store.words):
        if word and store.operand.uses(RCX):
            assembler.raw("488b0c24")  # mov rcx, [rsp]
        assembler.memory("0fb7", RCX, store.operand, offset=8 * word + 5)
        assembler.raw(f"8d49{-HEAP_TAG & 0xFF:02x}")  # lea ecx, [rcx - HEAP_TAG]
        # jrcxz has no form for far targets: jrcxz +2; jmp +5; jmp lost
        assembler.raw("e300" if is_short else "e302 eb05 e900000000")
        hits.append(len(assembler.code))
    assembler.raw("59 488da42480000000")  # pop rcx; lea rsp, [rsp + 128]
    return _Check(
        store,
        hook,
        tuple(hits),
        assembler.here,
        flags_dead=False,
        is_short=is_short,
        is_near=is_near,
    )


# Of so many words both tests of a store that bears are short.
_NEAR_WORDS = 2


def _lose(assembler: Assembler, check: _Check) -> None:
    """Append what runs when one of the words looks like a heap pointer."""
    store = check.store
    same = 0
    if check.written is not None:
        # cmp [slot], register: the same pointer again loses nothing
        assembler.memory("39", check.written, store.operand, wide=True)
        assembler.raw("7400")  # je
        same = len(assembler.code)
    unfinished = None
    if not check.flags_dead:
        _call_and_keep_flags(assembler, check)
    elif store.words == 1 and store.stamps_itself and not store.bears:
        unfinished = stamp(assembler, store)
    else:
        assembler.raw("4883c480 50 51")  # add rsp, -128; push rax; push rcx
        _call_for(assembler, check, RED_ZONE + 16)
        assembler.raw("59 58 4883ec80")  # pop rcx; pop rax; sub rsp, -128
    if same:
        assembler.land(same)
    _go_on(assembler, check)
    if unfinished is not None:
        finish(assembler, unfinished)


def _go_on(assembler: Assembler, check: _Check) -> None:
    """Append what follows a loss."""
    if check.is_last:
        assembler.move(check.store)
        assembler.jump(check.store.address + len(check.store.code))
    elif check.is_near:
        assembler.jump_near(check.resume)
    else:
        assembler.jump(check.resume)


def _call_and_keep_flags(assembler: Assembler, check: _Check) -> None:
    """Append the call behind a test that left rcx pushed."""
    # lahf and seto keep all arithmetic flags in ax.
    assembler.raw("59 50 51 9f 0f90c0 50")
    if check.store.operand.uses(RAX):
        assembler.raw("488b442410")  # mov rax, [rsp + 16]
    _call_for(assembler, check, RED_ZONE + 24)
    assembler.raw("58 047f 9e")  # pop rax; add al, 127 (overflow); sahf
    assembler.raw("59 58 488da42480000000")  # and lea rsp, [rsp + 128]


def _call_for(assembler: Assembler, check: _Check, pushed: int) -> None:
    """Append the call with the slot's address in rax and the caller in rcx."""
    load_slot(assembler, check.store.operand)
    load_return_address(assembler, RCX, check.store, pushed)
    assembler.call(check.hook, check.store)


def _lose_lanes(assembler: Assembler, store: Store, mask: Mask) -> None:
    """Append the call that looks at the lanes a vector is about to overwrite."""
    # lea rsp, [rsp - 128]; push rax; push rcx; push rdx; lahf; seto al; push rax
    assembler.raw("488d642480 50 51 52 9f 0f90c0 50")
    if store.operand.uses(RAX):
        assembler.raw("488b442418")  # mov rax, [rsp + 24]
    load_slot(assembler, store.operand)
    _load_lanes(assembler, mask)
    load_return_address(assembler, RCX, store, RED_ZONE + 32)
    assembler.call(LANE_HOOKS[mask.lane_bytes], store)
    assembler.raw("58 047f 9e")  # pop rax; add al, 127 (overflow); sahf
    assembler.raw("5a 59 58 488da42480000000")  # and lea rsp, [rsp + 128]


# By lanes, instructions that bring the low bits of a mask register into rdx; only such
# as every machine has that can do the store.
_KMOVW, _KMOVD, _KMOVQ = "c5f893", "c5fb93", "c4e1fb93"
_LANE_LOADS = {
    2: (_KMOVW, "83e203"),  # and edx, 3
    4: (_KMOVW, "83e20f"),  # and edx, 15
    8: (_KMOVW, "0fb6d2"),  # movzx edx, dl
    16: (_KMOVW, ""),
    32: (_KMOVD, ""),
    64: (_KMOVQ, ""),
}


def _load_lanes(assembler: Assembler, mask: Mask) -> None:
    """Append a load of the bits of a mask into rdx."""
    load, cut = _LANE_LOADS[mask.lanes]
    assembler.raw(f"{load}{0xD0 | mask.register:02x}{cut}")


def _lose_string(assembler: Assembler, store: Store) -> None:
    """Append the call that looks at all a string instruction is about to overwrite."""
    assembler.raw("488d642480 50")  # lea rsp, [rsp - 128]; push rax
    load_return_address(assembler, RAX, store, RED_ZONE + 8)
    repeated = COPIED_HOOKS if store.bears else REPEATED_HOOKS
    step = COPIED_STEP_HOOK if store.bears else ONE_STEP_HOOK
    hook = repeated[store.unit_bytes] if store.repeats else step
    assembler.call(hook, store)
    assembler.raw("58 488da42480000000")  # pop rax; lea rsp, [rsp + 128]
