"""Builds recordings in memory, byte by byte as the runtime writes them.

For tests and for tools that make recordings without a run.
"""

import zlib
from collections.abc import Iterable

from leakline.recording._format import (
    CHUNK_HEADER,
    CHUNK_MAGIC,
    FILE_HEADER,
    FILE_MAGIC,
    LAYOUTS,
    RECORD_HEADER,
    VERSION,
    Record,
)
from leakline.recording.chunks import ProcessKey

TAGS = {layout.record: tag for tag, layout in LAYOUTS.items()}


def encode_file_header() -> bytes:
    """What every recording begins with."""
    return FILE_HEADER.pack(FILE_MAGIC, VERSION, 0)


def encode_record(record: Record) -> bytes:
    """One record with its header."""
    tag = TAGS[type(record)]
    layout = LAYOUTS[tag]
    values: tuple[int | bytes, ...] = tuple(record)
    fields = values[:-1] if layout.has_text else values
    text = b"".join(value for value in values if isinstance(value, bytes))
    body = layout.fields.pack(*fields) + text
    return RECORD_HEADER.pack(tag, len(body)) + body


def encode_chunk(
    process: ProcessKey, sequence: int, records: Iterable[Record], *, writer: int = 0
) -> bytes:
    """One chunk; `writer` 0 stands for the process itself."""
    body = b"".join(map(encode_record, records))
    return (
        CHUNK_HEADER.pack(
            CHUNK_MAGIC,
            len(body),
            process.pid,
            sequence,
            process.started_ns,
            zlib.crc32(body),
            writer or process.pid,
        )
        + body
    )
