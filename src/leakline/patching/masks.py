"""Reads the masks of vector stores: such a store writes some lanes and leaves others.

What a mask leaves out may lie in memory that nobody may read, so a trampoline must know
the mask before it looks at what is about to be overwritten.
"""

from dataclasses import dataclass

from iced_x86 import Instruction, Mnemonic, Register

# Stores that write lane by lane, by the bytes of a lane. Others pack what they write.
_LANE_BYTES: dict[int, int] = {
    Mnemonic.VMOVDQU8: 1,
    Mnemonic.VMOVDQU16: 2,
    Mnemonic.VMOVDQU32: 4,
    Mnemonic.VMOVDQA32: 4,
    Mnemonic.VMOVUPS: 4,
    Mnemonic.VMOVAPS: 4,
    Mnemonic.VMOVDQU64: 8,
    Mnemonic.VMOVDQA64: 8,
    Mnemonic.VMOVUPD: 8,
    Mnemonic.VMOVAPD: 8,
}

# Their mask is a vector.
_MASKED_BY_VECTORS = {
    Mnemonic.VMASKMOVPS,
    Mnemonic.VMASKMOVPD,
    Mnemonic.VPMASKMOVD,
    Mnemonic.VPMASKMOVQ,
}


@dataclass(frozen=True, slots=True)
class Mask:
    """Which lanes a store writes.

    Attributes:
        register: Number of the mask register, 1 to 7.
        lane_bytes: 1, 2, 4 or 8.
        lanes: How many bits of the register count; the others may be anything.
    """

    register: int
    lane_bytes: int
    lanes: int


def is_masked(instruction: Instruction) -> bool:
    """Tell whether a store may leave a part of its operand as it is."""
    return instruction.has_op_mask or instruction.mnemonic in _MASKED_BY_VECTORS


def mask_of(instruction: Instruction, size: int) -> Mask | None:
    """Return the mask of a store of so many bytes, or None for one without or unusual."""
    lane_bytes = _LANE_BYTES.get(instruction.mnemonic)
    if not instruction.has_op_mask or lane_bytes is None:
        return None
    number = instruction.op_mask - Register.K0
    return Mask(number, lane_bytes, size // lane_bytes)
