"""Reads the table of sites that `leakline cc` puts into programs (format/sites.md)."""

from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from posixpath import normpath
from struct import Struct
from typing import NamedTuple

from leakline.symbols.elf import (
    SEGMENT_LOAD,
    ElfError,
    ElfFile,
    open_regular,
    read_elf,
)

_DESCRIPTOR = Struct("<iiiIiHBBQ")
_LINE = Struct("<I")
_DISTANCE_BYTES = 4
_BIRTHS_OFFSET = 16
_LONGEST_TEXT = 4096


class SiteCause(IntEnum):
    """How a site loses a reference."""

    OVERWRITTEN = 1
    OUT_OF_SCOPE = 2
    NEVER_STORED = 3


class Site(NamedTuple):
    """One way in which one variable loses a reference at one place of the source.

    Attributes:
        function: Linkage name.
        variable: As the source spells it; empty when it has no name.
        birth_line: Where the variable got the reference, in the same file; 0 when it
            is not known.
    """

    file: str
    function: str
    variable: str
    line: int
    birth_line: int
    column: int
    cause: SiteCause


def read_site(path: str, build_id: bytes, address: int) -> Site | None:
    """The site at a link-time address of a file; None when it has none there."""
    try:
        elf = _open(path)
        if build_id and elf.build_id != build_id:
            return None
        return _read(elf, address)
    except (ElfError, OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _open(path: str) -> ElfFile:
    return read_elf(Path(path))


def _read(elf: ElfFile, address: int) -> Site:
    start, fields = _descriptor(elf, address)
    file, function, variable = (
        _text_at(elf, start + _DISTANCE_BYTES * place + distance)
        for place, distance in enumerate(fields[:3])
    )
    line, births, column, cause, _, _ = fields[3:]
    birth_line = 0
    if births and address != start:
        place = start + _BIRTHS_OFFSET + births + (address - start - 1) * _LINE.size
        (birth_line,) = _LINE.unpack(_bytes_at(elf, place, _LINE.size))
    # As frames of other code have it: clang finds headers by ways like lib/../include.
    file = normpath(file) if file else ""
    return Site(file, function, variable, line, birth_line, column, SiteCause(cause))


def _descriptor(elf: ElfFile, address: int) -> tuple[int, tuple[int, ...]]:
    """Where the descriptor starts that an address belongs to, and its fields.

    A descriptor with many births is followed by empty ones.
    """
    size = _DESCRIPTOR.size
    start = address - address % size
    content = _bytes_at(elf, start, size)
    while content == bytes(size):
        start -= size
        content = _bytes_at(elf, start, size)
    if len(content) < size:
        raise ElfError("a site is cut off")
    return start, _DESCRIPTOR.unpack(content)


def _text_at(elf: ElfFile, address: int) -> str:
    text = _bytes_at(elf, address, _LONGEST_TEXT).partition(b"\0")[0]
    return text.decode("utf-8", "replace")


def _bytes_at(elf: ElfFile, address: int, size: int) -> bytes:
    for segment in elf.segments:
        inside = address - segment.address
        if segment.kind == SEGMENT_LOAD and 0 <= inside < segment.file_size:
            with open_regular(elf.path) as file:
                file.seek(segment.offset + inside)
                found = file.read(min(size, segment.file_size - inside))
            if found:
                return found
    raise ElfError("it has no site there")
