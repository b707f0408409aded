"""The few facts of an ELF file that decide whether a program can be watched.

This runs before each watched program starts, so it reads no more than it needs.
"""

from __future__ import annotations

from struct import Struct, error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

MAGIC = b"\x7fELF"

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_DYNAMIC_ENTRY = Struct("<QQ")
_CLASS_64 = 2
_LITTLE_ENDIAN = 1
_MACHINE_X86_64 = 62
_LOAD, _DYNAMIC, _INTERPRETER, _NOTE = 1, 2, 3, 4
_NEEDED, _STRING_TABLE = 1, 5
_LONGEST_PATH = 4096
_LARGEST_DYNAMIC_BYTES = 1 << 20
_LARGEST_NOTES_BYTES = 1 << 20
_NOTE_NAME = b"Leakline\0"


class NotElfError(ValueError):
    """The file is no sound ELF file."""


class ElfHeader:
    """What kind of ELF file it is.

    Attributes:
        bits: 32 or 64.
        x86_64: It is 64-bit little-endian x86; the rest is known only then.
        interpreter: Path of the loader it asks for; empty for a static program.
        needed: Names of the libraries it is linked to.
        notes_losses: `leakline cc` compiled it.
    """

    def __init__(self, file: BinaryIO) -> None:
        start = file.read(_HEADER.size)
        if not start.startswith(MAGIC) or len(start) < _HEADER.size:
            raise NotElfError
        fields = _HEADER.unpack(start)
        self.bits = 64 if start[4] == _CLASS_64 else 32
        self.x86_64 = (
            start[4:6] == bytes([_CLASS_64, _LITTLE_ENDIAN])
            and fields[2] == _MACHINE_X86_64
        )
        self.interpreter = ""
        self.needed: tuple[str, ...] = ()
        self.notes_losses = False
        if self.x86_64:
            self._read_segments(file, at=fields[5], count=fields[10])

    def _read_segments(self, file: BinaryIO, at: int, count: int) -> None:
        try:
            file.seek(at)
            table = file.read(count * _SEGMENT.size)
            segments = [_Segment(row) for row in _SEGMENT.iter_unpack(table)]
            for segment in segments:
                if segment.kind == _INTERPRETER:
                    self.interpreter = _text_at(file, segment.offset)
                elif segment.kind == _DYNAMIC:
                    self.needed = _needed(file, segment, segments)
                elif segment.kind == _NOTE and _is_ours(file, segment):
                    self.notes_losses = True
        except (error, OSError, ValueError, OverflowError):
            raise NotElfError from None


class _Segment:
    """One program header."""

    __slots__ = ("address", "kind", "offset", "size")

    def __init__(self, row: tuple[int, ...]) -> None:
        self.kind, _, self.offset, self.address, _, self.size, _, _ = row


def _is_ours(file: BinaryIO, notes: _Segment) -> bool:
    """Whether notes of a program hold one as format/sites.md says."""
    file.seek(notes.offset)
    return _NOTE_NAME in file.read(min(notes.size, _LARGEST_NOTES_BYTES))


def _needed(
    file: BinaryIO, dynamic: _Segment, segments: list[_Segment]
) -> tuple[str, ...]:
    """The names in the dynamic section, whose string table is found by address."""
    file.seek(dynamic.offset)
    count = min(dynamic.size, _LARGEST_DYNAMIC_BYTES) // _DYNAMIC_ENTRY.size
    entries = list(_DYNAMIC_ENTRY.iter_unpack(file.read(count * _DYNAMIC_ENTRY.size)))
    strings = next((value for tag, value in entries if tag == _STRING_TABLE), 0)
    place = _offset_of(strings, segments)
    if not place:
        return ()
    return tuple(
        _text_at(file, place + value) for tag, value in entries if tag == _NEEDED
    )


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
