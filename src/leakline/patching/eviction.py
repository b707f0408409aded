"""Which instructions can run in a trampoline instead of at their own place."""

from dataclasses import dataclass
from struct import pack

from iced_x86 import Code, Decoder, FlowControl, Instruction

# The mark of places that indirect branches may lead to must stay where it is.
_BRANCH_TARGET_MARKS = {Code.ENDBR64, Code.ENDBR32}


@dataclass(frozen=True, slots=True)
class Plain:
    """An instruction that is no store of interest.

    Attributes:
        address: Where it is in the module.
        code: Its bytes.
        displacement_at: Offset in `code` of a displacement that is relative to the
            instruction pointer; 0 when there is none.
    """

    address: int
    code: bytes
    displacement_at: int = 0


def evictable(code: bytes, base: int, address: int, limit: int) -> Plain | None:
    """Return the instruction at an address if it can run elsewhere.

    Args:
        code: The section.
        base: Its address.
        address: Of the instruction.
        limit: End of the function.
    """
    if address >= limit:
        return None
    start = address - base
    decoder = Decoder(64, code[start : min(limit, address + 15) - base], ip=address)
    instruction = decoder.decode()
    if not _runs_anywhere(instruction):
        return None
    displacement_at = 0
    if instruction.is_ip_rel_memory_operand:
        offsets = decoder.get_constant_offsets(instruction)
        displacement_at = offsets.displacement_offset
    return Plain(address, code[start : start + instruction.len], displacement_at)


def _runs_anywhere(instruction: Instruction) -> bool:
    return (
        instruction.code != Code.INVALID
        and instruction.flow_control == FlowControl.NEXT
        and instruction.code not in _BRANCH_TARGET_MARKS
    )


def moved(code: bytes, displacement_at: int, distance: int) -> bytes:
    """Return an instruction for another place, so many bytes further down.

    Raises:
        OverflowError: Its operand cannot be reached from there.
    """
    if displacement_at == 0:
        return code
    end = displacement_at + 4
    displacement = int.from_bytes(code[displacement_at:end], "little", signed=True)
    displacement += distance
    if not -(1 << 31) <= displacement < 1 << 31:
        raise OverflowError
    return code[:displacement_at] + pack("<i", displacement) + code[end:]
