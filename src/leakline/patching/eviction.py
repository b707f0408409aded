"""Moves instructions that are no stores out of the way of a jump."""

from struct import pack

from iced_x86 import Code, Decoder, FlowControl, Instruction

from leakline.patching.trampolines import Trampoline


def evictable(code: bytes, base: int, address: int, limit: int) -> bytes | None:
    """Return the instruction at an address if it can run elsewhere as it is.

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
    return code[start : start + instruction.len]


def _runs_anywhere(instruction: Instruction) -> bool:
    return (
        instruction.code != Code.INVALID
        and instruction.flow_control == FlowControl.NEXT
        and not instruction.is_ip_rel_memory_operand
    )


def moved_code(instruction: bytes, address: int, place: int) -> Trampoline:
    """Return an instruction for another place, with the jump back behind it."""
    distance = address - place - 5
    return Trampoline(instruction + b"\xe9" + pack("<i", distance), ())
