"""Names the slot that a store overwrote, where the instruction itself says which."""

from functools import lru_cache
from pathlib import Path

from iced_x86 import Decoder

from leakline.model.stack import Frame
from leakline.symbols.data_symbols import DataSymbols, read_data_symbols
from leakline.symbols.elf import SEGMENT_LOAD, ElfError, ElfFile, open_regular, read_elf

_LONGEST_INSTRUCTION = 15


def slot_of(frame: Frame) -> str | None:
    """Return the variable that the store at a frame overwrites; None if unknown.

    Only stores to a fixed address name their variable; others get their address from
    registers, which nobody kept.
    """
    try:
        elf, symbols = _module(frame.module)
        code = _code_at(elf, frame.offset)
    except (ElfError, OSError):
        return None
    instruction = Decoder(64, code, ip=frame.offset).decode()
    if not instruction.is_ip_rel_memory_operand:
        return None
    found = symbols.find(instruction.ip_rel_memory_address)
    if found is None:
        return None
    name, inside = found
    return f"{name} + {inside}" if inside else name


@lru_cache(maxsize=64)
def _module(path: str) -> tuple[ElfFile, DataSymbols]:
    elf = read_elf(Path(path))
    return elf, read_data_symbols(elf)


def _code_at(elf: ElfFile, address: int) -> bytes:
    for segment in elf.segments:
        inside = address - segment.address
        if segment.kind == SEGMENT_LOAD and 0 <= inside < segment.file_size:
            with open_regular(elf.path) as file:
                file.seek(segment.offset + inside)
                return file.read(_LONGEST_INSTRUCTION)
    return b""
