"""Finds the chunks of a recording, also in a file that is cut or damaged.

A *whole* chunk lies completely in the file and matches its CRC. A *cut* one is the last
of the file and ends before its length says.
"""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from leakline.recording._format import CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader

# The runtime writes chunks far below this; a longer one is a damaged length.
CHUNK_LIMIT_BYTES = 16 << 20

SEARCH_WINDOW_BYTES = 1 << 20

MAGIC_BYTES = CHUNK_MAGIC.to_bytes(4, "little")


class ProcessKey(NamedTuple):
    """Names a process for good: ids are used again, start times are not."""

    pid: int
    started_ns: int


class Chunk(NamedTuple):
    """Records that one process wrote at one time.

    Attributes:
        records: The bytes of the records; of a cut chunk as many as there are.
        end: Where the chunk ends in the file.
    """

    process: ProcessKey
    header: ChunkHeader
    records: bytes
    end: int


@dataclass(slots=True)
class Damage:
    """What a reader could not use.

    Attributes:
        skipped_bytes: Bytes that belong to no whole chunk.
        skipped_places: Runs of such bytes.
        cut: The file ends inside a chunk.
        unknown_records: Records of kinds this version does not know, or too short.
        missing_chunks: Chunks that a process wrote but the file does not hold.
    """

    skipped_bytes: int = 0
    skipped_places: int = 0
    cut: bool = False
    unknown_records: int = 0
    missing_chunks: int = 0


class _Flaw(Enum):
    """Why there is no whole chunk at a place."""

    END = "end of file"
    CUT = "cut"
    DAMAGED = "damaged"


def read_chunks(descriptor: int, position: int, damage: Damage) -> Iterator[Chunk]:
    """Yields every whole chunk from `position` on, and the cut one at the end."""
    while True:
        found = _chunk_at(descriptor, position)
        if isinstance(found, Chunk):
            yield found
            position = found.end
            continue
        if found is _Flaw.END:
            return
        following = _next_whole(descriptor, position + 1)
        if following is None:
            yield from _last(descriptor, position, found, damage)
            return
        damage.skipped_places += 1
        damage.skipped_bytes += following - position
        position = following


def _chunk_at(descriptor: int, position: int) -> Chunk | _Flaw:
    head = os.pread(descriptor, CHUNK_HEADER.size, position)
    if not head:
        return _Flaw.END
    if len(head) < CHUNK_HEADER.size:
        return _Flaw.CUT if head[:4] == MAGIC_BYTES[: len(head)] else _Flaw.DAMAGED
    header = ChunkHeader._make(CHUNK_HEADER.unpack(head))
    if header.magic != CHUNK_MAGIC or header.length > CHUNK_LIMIT_BYTES:
        return _Flaw.DAMAGED
    start = position + CHUNK_HEADER.size
    records = os.pread(descriptor, header.length, start)
    if len(records) < header.length:
        return _Flaw.CUT
    if zlib.crc32(records) != header.crc:
        return _Flaw.DAMAGED
    return _chunk(header, records, start)


def _chunk(header: ChunkHeader, records: bytes, start: int) -> Chunk:
    key = ProcessKey(header.pid, header.started_ns)
    return Chunk(key, header, records, start + len(records))


def _next_whole(descriptor: int, position: int) -> int | None:
    """Where the next whole chunk begins; text that looks like one does not count."""
    while window := os.pread(descriptor, SEARCH_WINDOW_BYTES, position):
        offset = window.find(MAGIC_BYTES)
        while offset >= 0:
            if isinstance(_chunk_at(descriptor, position + offset), Chunk):
                return position + offset
            offset = window.find(MAGIC_BYTES, offset + 1)
        if len(window) < len(MAGIC_BYTES):
            return None
        position += len(window) - len(MAGIC_BYTES) + 1
    return None


def _last(
    descriptor: int, position: int, flaw: _Flaw, damage: Damage
) -> Iterator[Chunk]:
    """What can be had of the bytes behind the last whole chunk."""
    size = os.fstat(descriptor).st_size
    if flaw is not _Flaw.CUT:
        damage.skipped_places += 1
        damage.skipped_bytes += size - position
        return
    damage.cut = True
    head = os.pread(descriptor, CHUNK_HEADER.size, position)
    if len(head) == CHUNK_HEADER.size:
        header = ChunkHeader._make(CHUNK_HEADER.unpack(head))
        start = position + CHUNK_HEADER.size
        yield _chunk(header, os.pread(descriptor, header.length, start), start)
