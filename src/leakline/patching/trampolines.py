"""Writes the code that a patched store jumps to.

Layout and meaning: native/format/plan.md. The fast path touches no register and, where
the flags are dead, saves nothing; the path of a loss calls a hook of the runtime.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from struct import pack
from typing import NamedTuple

from leakline.patching.eviction import Plain, moved
from leakline.patching.masks import Mask
from leakline.patching.operands import Operand, encode
from leakline.patching.stores import Store
from leakline.symbols.unwind_tables import RBP, RSP

# Bits 40..55 of every heap pointer; the runtime takes this range for the heap when it
# patches. The hooks are pointers in a page that the runtime maps below 2 GiB.
HEAP_TAG = 0x11
HOOK_TABLE = 0x7FE00000

# Numbers of hooks: by the words of a store, by the steps of a string instruction, and by
# the lanes of a vector.
WORD_HOOKS = {1: 0, 2: 1, 4: 2, 8: 3}
ONE_STEP_HOOK = 4
REPEATED_HOOKS = {1: 5, 2: 6, 4: 7, 8: 8}
BIRTH_HOOKS = {1: 9, 2: 10, 4: 11, 8: 12}
LANE_HOOKS = {1: 13, 2: 14, 4: 15, 8: 16}
COPIED_STEP_HOOK = 17
COPIED_HOOKS = {1: 18, 2: 19, 4: 20, 8: 21}

_RAX, _RCX, _RSP, _RBP = 0, 1, 4, 5
_RED_ZONE = 128
_SHORT_JUMP = range(-128, 128)


class _Jump(NamedTuple):
    """The opcodes of a jump with a distance of one byte, and of four."""

    short: bytes
    long: bytes


_ALWAYS = _Jump(b"\xeb", b"\xe9")
_IF_EQUAL = _Jump(b"\x74", b"\x0f\x84")

# One instruction that a trampoline runs.
Step = Store | Plain


@dataclass(frozen=True, slots=True)
class Trampoline:
    """Finished code.

    Attributes:
        code: Its bytes.
        places: What a stamp tells of each store, and the store's address: the place is
            the address behind the call of the hook.
    """

    code: bytes
    places: tuple[tuple[int, int], ...] = ()


def trampoline(steps: Sequence[Step], address: int) -> Trampoline:
    """Return code that runs some instructions, to be placed at an address.

    Args:
        steps: Neighbours, in their order.
        address: Of the trampoline. Its size does not depend on it.

    Raises:
        OverflowError: Something cannot be reached from there.
    """
    assembler = Assembler(address)
    checks = []
    for step in steps:
        if isinstance(step, Plain):
            assembler.move(step)
        else:
            checks += _checked_store(assembler, step)
    last = steps[-1]
    assembler.jump(last.address + len(last.code))
    if checks and checks[-1].store is last and not last.bears:
        checks[-1] = replace(checks[-1], is_last=True)
    for check in checks:
        _call_hook(assembler, check)
    return Trampoline(bytes(assembler.code), tuple(assembler.places))


@dataclass(slots=True)
class Assembler:
    """Code being written at a known address."""

    address: int
    code: bytearray = field(default_factory=bytearray)
    places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def here(self) -> int:
        """Address of the next byte."""
        return self.address + len(self.code)

    def raw(self, text: str) -> None:
        """Append bytes written in hexadecimal."""
        self.code += bytes.fromhex(text)

    def memory(  # noqa: PLR0913 - as many parts as an instruction has
        self,
        opcode: str,
        register: int,
        operand: Operand,
        *,
        offset: int = 0,
        prefix: bytes = b"",
        wide: bool = False,
        tail: bytes = b"",
    ) -> None:
        """Append an instruction with a memory operand."""
        self.code += encode(
            bytes.fromhex(opcode),
            register,
            operand,
            at=self.here,
            offset=offset,
            prefix=prefix,
            wide=wide,
            tail=tail,
        )

    def move(self, step: Step) -> None:
        """Append an instruction of the module."""
        distance = step.address - self.here
        self.code += moved(step.code, step.displacement_at, distance)

    def jump(self, target: int) -> None:
        """Append a jump to an address."""
        distance = target - (self.here + 5)
        if not -(1 << 31) <= distance < 1 << 31:
            raise OverflowError
        self.code += b"\xe9" + pack("<i", distance)

    def jump_back(self, offset: int, jump: _Jump) -> None:
        """Append a jump to an offset in this code."""
        distance = offset - (len(self.code) + 2)
        if distance in _SHORT_JUMP:
            self.code += jump.short + pack("<b", distance)
        else:
            distance = offset - (len(self.code) + len(jump.long) + 4)
            self.code += jump.long + pack("<i", distance)

    def land(self, end_of_jump: int, *, far: bool) -> None:
        """Let a jump forward that ends at an offset lead here."""
        distance = len(self.code) - end_of_jump
        if far:
            self.code[end_of_jump - 4 : end_of_jump] = pack("<i", distance)
            return
        if distance not in _SHORT_JUMP:
            raise OverflowError
        self.code[end_of_jump - 1] = distance

    def call(self, hook: int, store: Store) -> None:
        """Append the call of a hook on behalf of a store."""
        self.code += b"\xff\x14\x25" + pack("<i", HOOK_TABLE + 8 * hook)
        self.places.append((self.here, store.address))


@dataclass(frozen=True, slots=True)
class _Check:
    """A test of the words that a store overwrites, or has written.

    Attributes:
        store: The store.
        hook: Number of the hook to call.
        hits: Ends of its jumps to the call.
        resume: Where the call goes on.
        flags_dead: Nobody reads the arithmetic flags there.
        written: Number of the register that the store writes, when the check comes
            before it and the flags are dead.
        is_last: Nothing follows but the store and the jump back, for which the call
            has a copy of its own.
    """

    store: Store
    hook: int
    hits: tuple[int, ...]
    resume: int
    flags_dead: bool
    written: int | None = None
    is_last: bool = False


def _checked_store(assembler: Assembler, store: Store) -> list[_Check]:
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
    before = check(assembler, store, WORD_HOOKS[store.words])
    checks = [replace(before, written=written)]
    assembler.move(store)
    if store.bears:
        check = check if store.keeps_flags else _check_without_flags
        checks.append(check(assembler, store, BIRTH_HOOKS[store.words]))
    return checks


def _is_far(store: Store) -> bool:
    """Whether the calls of a store may be too far away for short jumps."""
    return store.bears and store.words > _NEAR_WORDS


# Of so many words both tests of a store that bears are short.
_NEAR_WORDS = 2


def _check(assembler: Assembler, store: Store, hook: int) -> _Check:
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
        assembler.raw("0f8400000000" if _is_far(store) else "7400")  # je lost
        hits.append(len(assembler.code))
    return _Check(store, hook, tuple(hits), len(assembler.code), flags_dead=True)


def _check_without_flags(assembler: Assembler, store: Store, hook: int) -> _Check:
    """Append the test by jrcxz; its jumps leave rcx pushed below the red zone."""
    assembler.raw("488d642480 51")  # lea rsp, [rsp - 128]; push rcx
    hits = []
    for word in range(store.words):
        if word and store.operand.uses(_RCX):
            assembler.raw("488b0c24")  # mov rcx, [rsp]
        assembler.memory("0fb7", _RCX, store.operand, offset=8 * word + 5)
        assembler.raw(f"8d49{-HEAP_TAG & 0xFF:02x}")  # lea ecx, [rcx - HEAP_TAG]
        # jrcxz lost, which has no form for far targets: jrcxz +2; jmp +5; jmp lost
        assembler.raw("e302 eb05 e900000000" if _is_far(store) else "e300")
        hits.append(len(assembler.code))
    assembler.raw("59 488da42480000000")  # pop rcx; lea rsp, [rsp + 128]
    return _Check(store, hook, tuple(hits), len(assembler.code), flags_dead=False)


def _call_hook(assembler: Assembler, check: _Check) -> None:
    """Append what runs when one of the words looks like a heap pointer."""
    store = check.store
    for hit in check.hits:
        assembler.land(hit, far=_is_far(store))
    if check.flags_dead:
        if check.written is not None:
            # cmp [slot], register: the same pointer again loses nothing
            assembler.memory("39", check.written, store.operand, wide=True)
            assembler.jump_back(check.resume, _IF_EQUAL)
        assembler.raw("4883c480 50 51")  # add rsp, -128; push rax; push rcx
        _call_for(assembler, check, _RED_ZONE + 16)
        assembler.raw("59 58 4883ec80")  # pop rcx; pop rax; sub rsp, -128
    else:
        # lahf and seto keep all arithmetic flags in ax.
        assembler.raw("59 50 51 9f 0f90c0 50")
        if store.operand.uses(_RAX):
            assembler.raw("488b442410")  # mov rax, [rsp + 16]
        _call_for(assembler, check, _RED_ZONE + 24)
        assembler.raw("58 047f 9e")  # pop rax; add al, 127 (overflow); sahf
        assembler.raw("59 58 488da42480000000")  # and lea rsp, [rsp + 128]
    if check.is_last:
        assembler.move(store)
        assembler.jump(store.address + len(store.code))
    else:
        assembler.jump_back(check.resume, _ALWAYS)


def _call_for(assembler: Assembler, check: _Check, pushed: int) -> None:
    """Append the call with the slot's address in rax and the caller in rcx."""
    _load_slot(assembler, check.store.operand)
    _load_return_address(assembler, _RCX, check.store, pushed)
    assembler.call(check.hook, check.store)


def _load_slot(assembler: Assembler, operand: Operand) -> None:
    """Append a load of the operand's address into rax."""
    assembler.memory("8d", _RAX, replace(operand, segment=b""), wide=True)
    if operand.segment:
        assembler.raw("6448030425 00000000")  # add rax, fs:[0]


def _lose_lanes(assembler: Assembler, store: Store, mask: Mask) -> None:
    """Append the call that looks at the lanes a vector is about to overwrite."""
    # lea rsp, [rsp - 128]; push rax; push rcx; push rdx; lahf; seto al; push rax
    assembler.raw("488d642480 50 51 52 9f 0f90c0 50")
    if store.operand.uses(_RAX):
        assembler.raw("488b442418")  # mov rax, [rsp + 24]
    _load_slot(assembler, store.operand)
    _load_lanes(assembler, mask)
    _load_return_address(assembler, _RCX, store, _RED_ZONE + 32)
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
    _load_return_address(assembler, _RAX, store, _RED_ZONE + 8)
    repeated = COPIED_HOOKS if store.bears else REPEATED_HOOKS
    step = COPIED_STEP_HOOK if store.bears else ONE_STEP_HOOK
    hook = repeated[store.unit_bytes] if store.repeats else step
    assembler.call(hook, store)
    assembler.raw("58 488da42480000000")  # pop rax; lea rsp, [rsp + 128]


def _load_return_address(
    assembler: Assembler, register: int, store: Store, pushed: int
) -> None:
    """Append a load of the frame's return address, or of 0 when it is unknown."""
    rule = store.caller
    if rule is not None and rule.register == RSP:
        place = Operand(_RSP, None, 0, pushed + rule.offset - 8)
    elif rule is not None and rule.register == RBP:
        place = Operand(_RBP, None, 0, rule.offset - 8)
    else:
        assembler.raw(f"b8{0:08x}" if register == _RAX else f"b9{0:08x}")
        return
    assembler.memory("8b", register, place, wide=True)
