"""Encodes the memory operand of an instruction into other instructions.

A trampoline reads the slot that a store is about to overwrite. Its instructions use the
store's own operand with another displacement, so only ModRM, SIB and displacement are
made here; the decoder is needed only to read the store.
"""

from dataclasses import dataclass
from struct import pack

from iced_x86 import Instruction, Register

_NUMBERS: dict[int, int] = {
    register: number
    for number, register in enumerate(
        [
            Register.RAX,
            Register.RCX,
            Register.RDX,
            Register.RBX,
            Register.RSP,
            Register.RBP,
            Register.RSI,
            Register.RDI,
            Register.R8,
            Register.R9,
            Register.R10,
            Register.R11,
            Register.R12,
            Register.R13,
            Register.R14,
            Register.R15,
        ]
    )
}

REX_B = 1
REX_X = 2
REX_R = 4
REX_W = 8

# Registers from here on need a bit of the REX prefix; a ModRM byte has three bits.
_FIRST_EXTENDED = 8
# In ModRM.rm: a SIB byte follows; as a base without displacement: there is none.
_SIB_FOLLOWS = 4
_NO_BASE = 5

_SEGMENTS = {Register.FS: b"\x64"}


@dataclass(frozen=True, slots=True)
class Operand:
    """A memory operand with 64-bit registers.

    Attributes:
        base: Register number 0..15, or None.
        index: Register number 0..15, or None.
        scale: 0..3, the index is shifted left by it.
        displacement: Signed; for `absolute` the address itself.
        relative: The operand is relative to the instruction pointer.
        segment: The prefix byte of fs, or nothing.
    """

    base: int | None
    index: int | None
    scale: int
    displacement: int
    relative: bool = False
    segment: bytes = b""

    def uses(self, register: int) -> bool:
        """Tell whether the operand reads a general register."""
        return register in (self.base, self.index)


def operand_of(instruction: Instruction) -> Operand | None:
    """Return the memory operand of a decoded store, or None for unusual ones."""
    if instruction.segment_prefix == Register.GS:
        return None
    segment = _SEGMENTS.get(instruction.segment_prefix, b"")
    if instruction.is_ip_rel_memory_operand:
        if instruction.memory_base != Register.RIP:
            return None
        target = instruction.ip_rel_memory_address
        return Operand(None, None, 0, target, relative=True, segment=segment)
    base = _number(instruction.memory_base)
    index = _number(instruction.memory_index)
    if base is _UNUSUAL or index is _UNUSUAL:
        return None
    displacement = instruction.memory_displacement
    if displacement >= 1 << 63:
        displacement -= 1 << 64
    if not -(1 << 31) <= displacement < (1 << 31) - 64:
        return None
    scale = instruction.memory_index_scale.bit_length() - 1
    return Operand(base, index, scale, displacement, segment=segment)


_UNUSUAL = -1


def number_of(register: int) -> int | None:
    """Return the number of a general register of 64 bits; None for others."""
    return _NUMBERS.get(register)


def _number(register: int) -> int | None:
    if register == Register.NONE:
        return None
    return _NUMBERS.get(register, _UNUSUAL)


def encode(  # noqa: PLR0913 - an instruction has that many parts
    opcode: bytes,
    register: int,
    operand: Operand,
    *,
    at: int,
    offset: int = 0,
    prefix: bytes = b"",
    wide: bool = False,
    tail: bytes = b"",
) -> bytes:
    """Return an instruction that uses an operand.

    Args:
        opcode: Opcode bytes.
        register: ModRM.reg: a register number, or an opcode extension.
        operand: The memory operand.
        at: Address of the instruction, for operands relative to it.
        offset: Added to the operand's address.
        prefix: Legacy prefixes other than the segment's.
        wide: REX.W.
        tail: Immediate bytes.

    Raises:
        OverflowError: The operand cannot be reached from `at`.
    """
    rex = (REX_W if wide else 0) | (REX_R if register >= _FIRST_EXTENDED else 0)
    if operand.base is not None and operand.base >= _FIRST_EXTENDED:
        rex |= REX_B
    if operand.index is not None and operand.index >= _FIRST_EXTENDED:
        rex |= REX_X
    head = operand.segment + prefix + (bytes([0x40 | rex]) if rex else b"") + opcode
    if operand.relative:
        length = len(head) + 5 + len(tail)
        distance = operand.displacement + offset - (at + length)
        if not -(1 << 31) <= distance < 1 << 31:
            raise OverflowError
        return (
            head + bytes([(register & 7) << 3 | _NO_BASE]) + pack("<i", distance) + tail
        )
    return head + _modrm(register & 7, operand, operand.displacement + offset) + tail


def _modrm(register: int, operand: Operand, displacement: int) -> bytes:
    if operand.base is None:
        index = _SIB_FOLLOWS if operand.index is None else operand.index & 7
        sib = operand.scale << 6 | index << 3 | _NO_BASE
        return bytes([register << 3 | _SIB_FOLLOWS, sib]) + pack("<i", displacement)
    base = operand.base & 7
    if displacement == 0 and base != _NO_BASE:
        mode, tail = 0, b""
    elif displacement.bit_length() < 8:  # noqa: PLR2004 - a signed byte
        mode, tail = 1, pack("<b", displacement)
    else:
        mode, tail = 2, pack("<i", displacement)
    if operand.index is None and base != _SIB_FOLLOWS:
        return bytes([mode << 6 | register << 3 | base]) + tail
    index = _SIB_FOLLOWS if operand.index is None else operand.index & 7
    sib = operand.scale << 6 | index << 3 | base
    return bytes([mode << 6 | register << 3 | _SIB_FOLLOWS, sib]) + tail
