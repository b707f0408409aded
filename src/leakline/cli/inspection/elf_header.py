"""The few facts of an ELF header that decide whether a program can be watched."""

from struct import Struct, error
from typing import BinaryIO, NamedTuple

MAGIC = b"\x7fELF"

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_CLASS_64 = 2
_LITTLE_ENDIAN = 1
_MACHINE_X86_64 = 62
_SEGMENT_DYNAMIC = 2
_SEGMENT_INTERPRETER = 3
_LONGEST_PATH = 4096


class ElfHeader(NamedTuple):
    """What kind of ELF file it is.

    Attributes:
        x86_64: It is 64-bit little-endian x86; the rest is known only then.
        bits: 32 or 64.
        type: 2 for a program at a fixed address, 3 for one that can lie anywhere.
        interpreter: Path of the loader it asks for; empty for a static program.
        dynamic: It has a dynamic section (static-pie programs do as well).
    """

    x86_64: bool
    bits: int
    type: int = 0
    interpreter: str = ""
    dynamic: bool = False


def read_elf_header(file: BinaryIO) -> ElfHeader | None:
    """Reads the header and program headers; None when it is no sound ELF file."""
    start = file.read(_HEADER.size)
    if not start.startswith(MAGIC) or len(start) < _HEADER.size:
        return None
    bits = 64 if start[4] == _CLASS_64 else 32
    fields = _HEADER.unpack(start)
    if bits != 64 or start[5] != _LITTLE_ENDIAN or fields[2] != _MACHINE_X86_64:  # noqa: PLR2004 (bits)
        return ElfHeader(x86_64=False, bits=bits)
    try:
        return _with_segments(file, elf_type=fields[1], at=fields[5], count=fields[10])
    except (error, OSError, ValueError, OverflowError):
        return None


def _with_segments(file: BinaryIO, elf_type: int, at: int, count: int) -> ElfHeader:
    file.seek(at)
    table = file.read(count * _SEGMENT.size)
    interpreter, dynamic = "", False
    for segment in _SEGMENT.iter_unpack(table):
        kind, offset, size = segment[0], segment[2], segment[5]
        if kind == _SEGMENT_INTERPRETER:
            file.seek(offset)
            interpreter = (
                file.read(min(size, _LONGEST_PATH))
                .rstrip(b"\0")
                .decode(errors="backslashreplace")
            )
        dynamic = dynamic or kind == _SEGMENT_DYNAMIC
    return ElfHeader(
        x86_64=True, bits=64, type=elf_type, interpreter=interpreter, dynamic=dynamic
    )
