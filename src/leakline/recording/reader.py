"""Reads a recording from its file: every complete record, whoever wrote it.

`open_recording` checks that the file is a recording; `RecordingFile.records` then yields
the records with the process that wrote them. It may be called again with the position
where it stopped, to follow a recording that is still being written.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from leakline.errors import RecordingError
from leakline.recording._format import (
    FILE_HEADER,
    FILE_MAGIC,
    VERSION,
    FileHeader,
    Record,
)
from leakline.recording.chunks import Chunk, Damage, ProcessKey, read_chunks
from leakline.recording.decode import decode_records
from leakline.recording.versions import upgrade


class Writer(NamedTuple):
    """Who wrote a record: a process, or a copy of it made to look at its heap."""

    process: ProcessKey
    pid: int


@dataclass(slots=True)
class RecordingFile:
    """An open recording.

    Attributes:
        position: Behind the last chunk that was read.
        damage: What could not be used so far.
    """

    descriptor: int
    version: int
    position: int = FILE_HEADER.size
    damage: Damage = field(default_factory=Damage)
    _expected: dict[Writer, int] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Size of the file now."""
        return os.fstat(self.descriptor).st_size

    def records(
        self, progress: Callable[[int, int], None] | None = None
    ) -> Iterator[tuple[Writer, Record]]:
        """Yields the records from `position` on.

        Calls `progress` after each chunk with the bytes read and the file's size.
        """
        for chunk in read_chunks(self.descriptor, self.position, self.damage):
            writer = Writer(chunk.process, chunk.header.writer)
            self._note_gap(writer, chunk)
            newest = upgrade(chunk, self.version)
            for record in decode_records(newest, self.damage):
                yield writer, record
            self.position = chunk.end
            if progress is not None:
                progress(chunk.end, self.size_bytes)

    def _note_gap(self, writer: Writer, chunk: Chunk) -> None:
        sequence = chunk.header.sequence
        expected = self._expected.get(writer, sequence)
        self.damage.missing_chunks += max(0, sequence - expected)
        self._expected[writer] = sequence + 1


@contextmanager
def open_recording(path: Path) -> Iterator[RecordingFile]:
    """Opens a recording for reading.

    Raises:
        RecordingError: The file cannot be read or is not a recording of ours.
    """
    descriptor = _open(path)
    try:
        _check_regular(path, descriptor)
        header = _read_header(path, descriptor)
        yield RecordingFile(descriptor, header.version)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        # Without O_NONBLOCK a pipe would wait for its writer before it can be refused.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no valid name"
        raise RecordingError(
            f"the recording {path} cannot be opened: {reason}"
        ) from None


def _check_regular(path: Path, descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise RecordingError(f"{path} is no regular file, so it is no recording")


def _read_header(path: Path, descriptor: int) -> FileHeader:
    data = os.pread(descriptor, FILE_HEADER.size, 0)
    if not data:
        raise RecordingError(f"{path} is empty: nothing was recorded in it")
    magic = FILE_MAGIC.to_bytes(8, "little")
    if data[:8] != magic[: len(data)]:
        raise RecordingError(f"{path} is not a recording made by leakline run")
    if len(data) < FILE_HEADER.size:
        raise RecordingError(f"{path} is cut inside its header: record the run again")
    header = FileHeader._make(FILE_HEADER.unpack(data))
    if header.version > VERSION:
        raise RecordingError(
            f"{path} was made by a newer leakline (format {header.version}, this one "
            f"reads up to {VERSION}): upgrade leakline to read it"
        )
    if header.version == 0:
        raise RecordingError(f"{path} has a damaged header: record the run again")
    return header
