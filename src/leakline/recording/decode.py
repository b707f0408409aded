"""Takes the records out of a chunk."""

from collections.abc import Iterator
from itertools import takewhile
from struct import Struct

from leakline.recording._format import LAYOUTS, RECORD_HEADER, Layout, Record
from leakline.recording.chunks import Chunk, Damage

HEADER_SIZE = RECORD_HEADER.size

# Per tag without text: the struct of header and fields together, so that a run of equal
# records (nodes, groups) is unpacked in one go.
RUN_STRUCTS = {
    tag: Struct("<II" + layout.fields.format.removeprefix("<"))
    for tag, layout in LAYOUTS.items()
    if not layout.has_text
}


def decode_records(chunk: Chunk, damage: Damage) -> Iterator[Record]:
    """Yields the complete records of a chunk in order."""
    data = memoryview(chunk.records)
    position = 0
    while position + HEADER_SIZE <= len(data):
        tag, length = RECORD_HEADER.unpack_from(data, position)
        layout = LAYOUTS.get(tag)
        end = position + HEADER_SIZE + length
        if end > len(data):
            return
        if layout is None or length < layout.fields.size:
            damage.unknown_records += 1
            position = end
        elif layout.has_text:
            yield _with_text(layout, data[position + HEADER_SIZE : end])
            position = end
        elif length == layout.fields.size:
            run = _run(tag, layout, data[position:])
            yield from run
            position += len(run) * (HEADER_SIZE + length)
        else:
            yield _without_text(layout, data, position + HEADER_SIZE)
            position = end


def _with_text(layout: Layout, body: memoryview) -> Record:
    size = layout.fields.size
    fields = layout.fields.unpack_from(body)
    return layout.record._make((*fields, bytes(body[size:])))


def _without_text(layout: Layout, data: memoryview, position: int) -> Record:
    return layout.record._make(layout.fields.unpack_from(data, position))


def _run(tag: int, layout: Layout, data: memoryview) -> list[Record]:
    """The records of the same tag and length that `data` begins with."""
    whole = RUN_STRUCTS[tag]
    length = layout.fields.size
    rows = whole.iter_unpack(data[: len(data) // whole.size * whole.size])
    make = layout.record._make
    alike = takewhile(lambda row: row[0] == tag and row[1] == length, rows)
    return [make(row[2:]) for row in alike]
