"""Moves instructions that are no stores out of the way of a jump."""

from iced_x86 import Code, Decoder, FlowControl, Instruction


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
