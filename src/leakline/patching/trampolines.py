"""Writes the code that a patched store jumps to.

Layout and meaning of the stamp: native/format/plan.md. The fast path touches no register
and, where the flags are dead, saves nothing; the path that stamps uses rax and rcx.
"""

from dataclasses import dataclass, field
from struct import pack

from leakline.patching.operands import Operand, encode
from leakline.patching.stores import Store
from leakline.symbols.unwind_tables import RBP, RSP

# Bits 40..55 of every heap pointer, and the distance from a granule to its stamp. The
# runtime takes this range for the heap when it patches.
HEAP_TAG = 0x11
SHADOW_DELTA = (1 << 40) + 0x1000
CLOCK_ADDRESS = ((HEAP_TAG + 1) << 40) + 0x800

_RAX, _RCX, _RSP = 0, 1, 4
_RED_ZONE = 128
# Slots this close above the stack pointer belong to the current stack.
_STACK_REACH_BITS = 23


@dataclass(slots=True)
class Assembler:
    """Code being written at a known address."""

    address: int
    code: bytearray = field(default_factory=bytearray)
    locks: list[int] = field(default_factory=list)

    @property
    def here(self) -> int:
        """Address of the next byte."""
        return self.address + len(self.code)

    def raw(self, text: str) -> None:
        """Append bytes written in hexadecimal."""
        self.code += bytes.fromhex(text)

    def jump(self, target: int) -> None:
        """Append a jump to an address."""
        distance = target - (self.here + 5)
        if not -(1 << 31) <= distance < 1 << 31:
            raise OverflowError
        self.code += b"\xe9" + pack("<i", distance)

    def patch_distance(self, end_of_jump: int) -> None:
        """Let a jump whose 32-bit distance ends at an offset lead here."""
        self.code[end_of_jump - 4 : end_of_jump] = pack(
            "<i", len(self.code) - end_of_jump
        )


@dataclass(frozen=True, slots=True)
class Trampoline:
    """Finished code.

    Attributes:
        locks: Offsets of prefix bytes that become `lock` once there are two threads.
    """

    code: bytes
    locks: tuple[int, ...]


def trampoline(store: Store, address: int) -> Trampoline:
    """Return the code for a store, to be placed at an address.

    Raises:
        OverflowError: The store or its operand cannot be reached from there.
    """
    assembler = Assembler(address)
    if store.unit_bytes:
        _stamp_string(assembler, store)
    checks = [_check(assembler, store, word) for word in range(store.words)]
    _original(assembler, store)
    assembler.jump(store.address + len(store.code))
    for word, end_of_jump in enumerate(checks):
        assembler.patch_distance(end_of_jump)
        _stamp(assembler, store, word)
        assembler.jump(address + end_of_jump)
    return Trampoline(bytes(assembler.code), tuple(assembler.locks))


def _check(assembler: Assembler, store: Store, word: int) -> int:
    """Append the test of one word; return the end of its jump to the stamp."""
    if store.flags_dead:
        assembler.code += encode(
            b"\x83",
            7,
            store.operand,
            at=assembler.here,
            offset=8 * word + 5,
            prefix=b"\x66",
            tail=bytes([HEAP_TAG]),
        )
        assembler.raw("0f8400000000")  # je lost
        return len(assembler.code)
    # Without touching the flags: rcx = tag of the word - HEAP_TAG, and jrcxz.
    assembler.raw("488d642480 51")  # lea rsp, [rsp - 128]; push rcx
    assembler.code += encode(
        b"\x0f\xb7", _RCX, store.operand, at=assembler.here, offset=8 * word + 5
    )
    assembler.raw(f"8d49{-HEAP_TAG & 0xFF:02x}")  # lea ecx, [rcx - HEAP_TAG]
    assembler.raw("e30b")  # jrcxz found
    assembler.raw("59 488da42480000000 eb0e")  # pop rcx; lea rsp, [rsp + 128]; jmp on
    assembler.raw("59 488da42480000000")  # found: pop rcx; lea rsp, [rsp + 128]
    assembler.raw("e900000000")  # jmp lost
    return len(assembler.code)


def _original(assembler: Assembler, store: Store) -> None:
    """Append the store itself; one relative to rip is re-encoded for its new place."""
    if not store.operand.relative:
        assembler.code += store.code
        return
    moved = bytearray(store.code)
    distance = int.from_bytes(
        moved[store.displacement_at : store.displacement_at + 4], "little", signed=True
    )
    distance += store.address - assembler.here
    if not -(1 << 31) <= distance < 1 << 31:
        raise OverflowError
    moved[store.displacement_at : store.displacement_at + 4] = pack("<i", distance)
    assembler.code += moved


def _stamp(assembler: Assembler, store: Store, word: int) -> None:
    """Append the stamp of the block that one overwritten word points to."""
    assembler.raw("488d642480 50 51")  # lea rsp, [rsp - 128]; push rax; push rcx
    pushed = _RED_ZONE + 16
    if not store.flags_dead:
        # lahf and seto keep all arithmetic flags in ax.
        assembler.raw("9f 0f90c0 50")
        if store.operand.uses(_RAX):
            assembler.raw("488b442410")  # mov rax, [rsp + 16]
        pushed += 8
    skips = _load_old_value(assembler, store.operand, word)
    _write_stamp(assembler, store, pushed)
    for place in skips:
        assembler.code[place - 1] = len(assembler.code) - place
    if not store.flags_dead:
        assembler.raw("58 047f 9e")  # pop rax; add al, 127 (overflow); sahf
    assembler.raw("59 58 488da42480000000")  # pop rcx; pop rax; lea rsp, [rsp + 128]


def _write_stamp(assembler: Assembler, store: Store, pushed: int) -> None:
    """Append code that stamps the block rcx points to; rax and rcx are used up."""
    assembler.raw("4883e1f0")  # and rcx, -16
    assembler.raw("48b8" + pack("<Q", SHADOW_DELTA).hex() + "4801c1")  # rcx += delta
    assembler.raw("48b8" + pack("<Q", CLOCK_ADDRESS).hex())  # mov rax, clock
    assembler.locks.append(len(assembler.code))
    assembler.raw("3e 48ff00 488b00")  # inc qword [rax]; mov rax, [rax]
    assembler.raw("48c1e010 488901")  # shl rax, 16; mov [rcx], rax
    _load_return_address(assembler, store, pushed)
    assembler.raw("48c1e010 48894108")  # shl rax, 16; mov [rcx + 8], rax
    itself = Operand(None, None, 0, store.address, relative=True)
    assembler.code += encode(b"\x8d", _RAX, itself, at=assembler.here)  # lea eax, store
    assembler.raw("668901 c1e810 66894108")  # low half to [rcx], high to [rcx + 8]


def _stamp_string(assembler: Assembler, store: Store) -> None:
    """Append code that stamps for every word that a string instruction overwrites.

    Strings that run downwards are left alone, and those on the current stack.
    """
    assembler.raw("488d642480 9c 50 51 52 57 56")  # flags, rax, rcx, rdx, rdi, rsi
    pushed = _RED_ZONE + 6 * 8
    if not store.repeats:
        assembler.raw("b901000000")  # mov ecx, 1
    assembler.raw("f644242904 0f8500000000")  # is the direction flag set?
    downwards = len(assembler.code)
    assembler.raw(f"48c1e1{store.unit_bytes.bit_length() - 1:02x}")  # rcx in bytes
    assembler.raw(f"4889f8 4829e0 48c1e8{_STACK_REACH_BITS:02x} 0f8400000000")
    on_stack = len(assembler.code)
    assembler.raw("488d140f 4883c707 4883e7f8")  # rdx = end; rdi = first whole word
    loop = len(assembler.code)
    assembler.raw("488d7708 4839d6 0f8700000000")  # until rdi + 8 > rdx
    at_end = len(assembler.code)
    assembler.raw("488b0f 4889f7")  # rcx = the word; on to the next
    assembler.raw(f"4889c8 48c1e828 83f8{HEAP_TAG:02x}")  # is it in the heap?
    assembler.raw("0f85" + pack("<i", loop - len(assembler.code) - 6).hex())
    _write_stamp(assembler, store, pushed)
    assembler.jump(assembler.address + loop)
    for end_of_jump in (downwards, on_stack, at_end):
        assembler.patch_distance(end_of_jump)
    assembler.raw("5e 5f 5a 59 58 9d 488da42480000000")


def _load_old_value(assembler: Assembler, operand: Operand, word: int) -> list[int]:
    """Append code that leaves the old pointer in rcx; return its jumps past the stamp.

    An operand in thread-local storage has no address that lea could give, and is never
    on the stack.
    """
    skips = []
    if operand.segment:
        assembler.code += encode(
            b"\x8b", _RCX, operand, at=assembler.here, offset=8 * word, wide=True
        )
    else:
        assembler.code += encode(
            b"\x8d", _RAX, operand, at=assembler.here, offset=8 * word, wide=True
        )
        assembler.raw("488b08 4829e0")  # mov rcx, [rax]; sub rax, rsp
        assembler.raw(f"48c1e8{_STACK_REACH_BITS:02x} 7400")  # shr rax, 23; je out
        skips.append(len(assembler.code))
    assembler.raw(f"4889c8 48c1e828 83f8{HEAP_TAG:02x} 7500")  # is it in the heap?
    skips.append(len(assembler.code))
    return skips


def _load_return_address(assembler: Assembler, store: Store, pushed: int) -> None:
    """Append code that leaves the frame's return address in rax, 0 when unknown."""
    rule = store.caller
    if rule is not None and rule.register == RSP:
        place = Operand(_RSP, None, 0, pushed + rule.offset - 8)
    elif rule is not None and rule.register == RBP:
        place = Operand(5, None, 0, rule.offset - 8)
    else:
        assembler.raw("31c0")  # xor eax, eax
        return
    assembler.code += encode(b"\x8b", _RAX, place, at=assembler.here, wide=True)
