"""The few facts of an ELF file that decide whether a program can be watched.

This runs before each watched program starts, so it reads no more than it needs.
"""

from struct import Struct, error
from typing import BinaryIO, NamedTuple

MAGIC = b"\x7fELF"

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_DYNAMIC_ENTRY = Struct("<QQ")
_CLASS_64 = 2
_LITTLE_ENDIAN = 1
_MACHINE_X86_64 = 62
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE = 1, 5
_LONGEST_PATH = 4096
_LARGEST_DYNAMIC_BYTES = 1 << 20


class ElfHeader(NamedTuple):
    """What kind of ELF file it is.

    Attributes:
        x86_64: It is 64-bit little-endian x86; the rest is known only then.
        bits: 32 or 64.
        interpreter: Path of the loader it asks for; empty for a static program.
        needed: Names of the libraries it is linked to.
    """

    x86_64: bool
    bits: int
    interpreter: str = ""
    needed: tuple[str, ...] = ()


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def read_elf_header(file: BinaryIO) -> ElfHeader | None:
    """Reads the headers; None when it is no sound ELF file."""
    start = file.read(_HEADER.size)
    if not start.startswith(MAGIC) or len(start) < _HEADER.size:
        return None
    fields = _HEADER.unpack(start)
    if start[4] != _CLASS_64:
        return ElfHeader(x86_64=False, bits=32)
    if start[5] != _LITTLE_ENDIAN or fields[2] != _MACHINE_X86_64:
        return ElfHeader(x86_64=False, bits=64)
    try:
        segments = _segments(file, at=fields[5], count=fields[10])
        interpreter = _interpreter(file, segments)
        needed = _needed(file, segments)
    except (error, OSError, ValueError, OverflowError):
        return None
    return ElfHeader(x86_64=True, bits=64, interpreter=interpreter, needed=needed)


def _segments(file: BinaryIO, at: int, count: int) -> list[_Segment]:
    file.seek(at)
    rows = _SEGMENT.iter_unpack(file.read(count * _SEGMENT.size))
    return [_Segment(row[0], row[2], row[3], row[5]) for row in rows]


def _interpreter(file: BinaryIO, segments: list[_Segment]) -> str:
    for segment in segments:
        if segment.kind == _INTERPRETER:
            return _text_at(file, segment.offset)
    return ""


def _needed(file: BinaryIO, segments: list[_Segment]) -> tuple[str, ...]:
    """The names in the dynamic section, whose string table is found by address."""
    names: list[int] = []
    strings = 0
    for segment in segments:
        if segment.kind == _DYNAMIC:
            file.seek(segment.offset)
            size = min(segment.size, _LARGEST_DYNAMIC_BYTES) // _DYNAMIC_ENTRY.size
            table = file.read(size * _DYNAMIC_ENTRY.size)
            for tag, value in _DYNAMIC_ENTRY.iter_unpack(table):
                if tag == _NEEDED:
                    names.append(value)
                elif tag == _STRING_TABLE:
                    strings = value
    place = _offset_of(strings, segments)
    return tuple(_text_at(file, place + name) for name in names) if place else ()


def _offset_of(address: int, segments: list[_Segment]) -> int:
    """Where in the file the bytes of an address are; 0 when they are not in it."""
    for segment in segments:
        offset = address - segment.address
        if segment.kind == _LOAD and 0 <= offset < segment.size:
            return segment.offset + offset
    return 0


def _text_at(file: BinaryIO, offset: int) -> str:
    file.seek(offset)
    text = file.read(_LONGEST_PATH).partition(b"\0")[0]
    return text.decode(errors="backslashreplace")
