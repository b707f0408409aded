"""What naming needs to know about an ELF file, read without trusting it.

Only headers and the sections asked for are read. Addresses are link-time addresses.
Files of other word sizes or machines are recognised, not read.
"""

import os
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

HEADER_64 = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_64 = struct.Struct("<IIQQQQIIQQ")
SEGMENT_64 = struct.Struct("<IIQQQQQQ")
NOTE = struct.Struct("<III")
COMPRESSION_64 = struct.Struct("<IIQQ")
DYNAMIC_64 = struct.Struct("<qQ")

CLASS_64 = 2
LITTLE_ENDIAN = 1
MACHINE_X86_64 = 62
SEGMENT_LOAD = 1
SEGMENT_INTERPRETER = 3
SEGMENT_NOTE = 4
SEGMENT_THREAD_LOCAL = 7
SECTION_NO_BITS = 8
SECTION_CODE = 4
SECTION_COMPRESSED = 0x800
NOTE_BUILD_ID = 3
COMPRESSION_ZLIB = 1
FIXED_PROGRAM = 2
DYNAMIC_FLAGS_1 = 0x6FFFFFFB
POSITION_INDEPENDENT_PROGRAM = 0x08000000

# Beyond this a section is taken for damage; the largest real ones are far smaller.
SECTION_LIMIT_BYTES = 2 << 30


class ElfError(ValueError):
    """The file is not an ELF file, or not one that can be read."""


class Section(NamedTuple):
    """One section header."""

    number: int
    kind: int
    flags: int
    offset: int
    size: int


class Segment(NamedTuple):
    """One program header."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int = 0


@dataclass(frozen=True, slots=True)
class ElfFile:
    """An ELF file for 64-bit x86.

    Attributes:
        kind: `e_type`: 2 is a fixed-address program, 3 a shared object or a
            position-independent program.
        build_id: Empty when the file has none.
    """

    path: Path
    kind: int
    sections: dict[str, Section]
    segments: tuple[Segment, ...]
    build_id: bytes

    @property
    def code_sections(self) -> frozenset[int]:
        """Indexes of the sections that hold code."""
        return frozenset(
            section.number
            for section in self.sections.values()
            if section.flags & SECTION_CODE
        )

    @property
    def load_address(self) -> int:
        """Address of the first loaded byte."""
        loads = [s.address for s in self.segments if s.kind == SEGMENT_LOAD]
        return min(loads, default=0)

    @property
    def has_interpreter(self) -> bool:
        """Whether a dynamic loader starts this program."""
        return any(s.kind == SEGMENT_INTERPRETER for s in self.segments)

    @property
    def is_program(self) -> bool:
        """Whether it was linked as a program; the C library can be started, too."""
        entries = self.section(".dynamic")
        whole = entries[: len(entries) // DYNAMIC_64.size * DYNAMIC_64.size]
        return self.kind == FIXED_PROGRAM or any(
            tag == DYNAMIC_FLAGS_1 and value & POSITION_INDEPENDENT_PROGRAM
            for tag, value in DYNAMIC_64.iter_unpack(whole)
        )

    def has_contents(self, name: str) -> bool:
        """Whether the section exists and its bytes are in this file."""
        section = self.sections.get(name)
        return section is not None and section.kind != SECTION_NO_BITS

    def section(self, name: str) -> bytes:
        """The bytes of a section, decompressed; empty when there are none."""
        section = self.sections.get(name)
        if section is None or section.kind == SECTION_NO_BITS:
            return b""
        with open_regular(self.path) as file:
            data = _read(file.fileno(), section.offset, section.size)
        return _decompress(data) if section.flags & SECTION_COMPRESSED else data


def read_elf(path: Path) -> ElfFile:
    """Reads the headers.

    Raises:
        ElfError: It is not a readable ELF file for 64-bit x86.
    """
    try:
        with open_regular(path) as file:
            return _read_headers(path, file.fileno())
    except OSError as error:
        raise ElfError(f"it cannot be read: {error.strerror}") from None
    except struct.error:
        raise ElfError("its headers are cut short") from None


def open_regular(path: Path) -> BinaryIO:
    """Opens a file whose name somebody else chose.

    Pipes and devices, which may hang or do something when opened, are refused.
    """
    if "\0" in str(path):
        raise ElfError("no file can have its name")
    if not stat.S_ISREG(path.stat().st_mode):
        raise ElfError("it is no regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    return os.fdopen(descriptor, "rb")


def _read_headers(path: Path, descriptor: int) -> ElfFile:
    head = _read(descriptor, 0, HEADER_64.size)
    if head[:4] != b"\x7fELF":
        raise ElfError("it is not an ELF file")
    if head[4:5] != bytes([CLASS_64]) or head[5:6] != bytes([LITTLE_ENDIAN]):
        raise ElfError("it is not a 64-bit file")
    fields = HEADER_64.unpack(head)
    kind, machine, segments_at, sections_at = fields[1], fields[2], *fields[5:7]
    if machine != MACHINE_X86_64:
        raise ElfError("it is not for x86-64")
    segment_count, section_count, names_index = fields[10], fields[12], fields[13]
    segments = _read_segments(descriptor, segments_at, segment_count)
    sections = _read_sections(descriptor, sections_at, section_count, names_index)
    build_id = _read_build_id(descriptor, segments, sections)
    return ElfFile(path, kind, sections, segments, build_id)


def _read(descriptor: int, offset: int, size: int) -> bytes:
    if size > SECTION_LIMIT_BYTES or offset >= 1 << 62:
        raise ElfError("its headers are damaged")
    return os.pread(descriptor, size, offset)


def _read_segments(descriptor: int, offset: int, count: int) -> tuple[Segment, ...]:
    data = _read(descriptor, offset, SEGMENT_64.size * count)
    rows = SEGMENT_64.iter_unpack(
        data[: len(data) // SEGMENT_64.size * SEGMENT_64.size]
    )
    return tuple(
        Segment(kind, flags, position, address, file_size, memory_size, alignment)
        for kind, flags, position, address, _, file_size, memory_size, alignment in rows
    )


def _read_sections(
    descriptor: int, offset: int, count: int, names_index: int
) -> dict[str, Section]:
    data = _read(descriptor, offset, SECTION_64.size * count)
    rows = list(
        SECTION_64.iter_unpack(data[: len(data) // SECTION_64.size * SECTION_64.size])
    )
    if names_index >= len(rows):
        return {}
    names = _read(descriptor, rows[names_index][4], rows[names_index][5])
    return {
        text_at(names, name): Section(index, kind, flags, position, size)
        for index, (name, kind, flags, _, position, size, *_) in enumerate(rows)
    }


def text_at(table: bytes, offset: int) -> str:
    """The NUL-terminated text at an offset of a string table."""
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else None].decode("utf-8", "replace")


def _read_build_id(
    descriptor: int, segments: tuple[Segment, ...], sections: dict[str, Section]
) -> bytes:
    """Looks in the section first: a debug file keeps it, but not the segments."""
    section = sections.get(".note.gnu.build-id")
    places = [(section.offset, section.size)] if section else []
    places += [(s.offset, s.file_size) for s in segments if s.kind == SEGMENT_NOTE]
    for offset, size in places:
        if build_id := _build_id_in(_read(descriptor, offset, min(size, 1 << 16))):
            return build_id
    return b""


def _build_id_in(notes: bytes) -> bytes:
    position = 0
    while position + NOTE.size <= len(notes):
        name_size, value_size, kind = NOTE.unpack_from(notes, position)
        name_at = position + NOTE.size
        value_at = name_at + (name_size + 3) // 4 * 4
        if kind == NOTE_BUILD_ID and notes[name_at : name_at + 4] == b"GNU\0":
            return notes[value_at : value_at + value_size]
        position = value_at + (value_size + 3) // 4 * 4
    return b""


def _decompress(data: bytes) -> bytes:
    kind, _, size, _ = COMPRESSION_64.unpack_from(data)
    if kind != COMPRESSION_ZLIB or size > SECTION_LIMIT_BYTES:
        raise ElfError("a section is compressed in an unknown way")
    try:
        return zlib.decompressobj().decompress(data[COMPRESSION_64.size :], size)
    except zlib.error:
        raise ElfError("a compressed section is damaged") from None
