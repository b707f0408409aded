import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leakline.errors import RecordingError
from leakline.recording._format import (
    CHUNK_HEADER,
    CHUNK_MAGIC,
    LAYOUTS,
    RECORD_HEADER,
    VERSION,
    GroupRecord,
    NodeRecord,
    OptionRecord,
    ProcessEndRecord,
    ProcessStartRecord,
    Record,
)
from leakline.recording.chunks import Damage, ProcessKey
from leakline.recording.create import create_recording
from leakline.recording.encode import (
    TAGS,
    encode_chunk,
    encode_file_header,
    encode_record,
)
from leakline.recording.reader import open_recording

ONE = ProcessKey(100, 7)
TWO = ProcessKey(101, 9)


def read(path: Path) -> tuple[list[tuple[int, Record]], Damage]:
    with open_recording(path) as recording:
        found = [(writer.process.pid, record) for writer, record in recording.records()]
        return found, recording.damage


def write(path: Path, *parts: bytes) -> Path:
    path.write_bytes(encode_file_header() + b"".join(parts))
    return path


def node(number: int) -> NodeRecord:
    return NodeRecord(number, number - 1, 0x1000 + number, 1, 0, 0)


def some_chunks() -> list[tuple[ProcessKey, list[Record]]]:
    return [
        (ONE, [ProcessStartRecord(100, 1, 0, 0, 5, b"/bin/a\0a"), node(1), node(2)]),
        (TWO, [ProcessStartRecord(101, 100, 1, 0, 6, b"/bin/a\0a LLCK")]),
        (ONE, [node(3), GroupRecord(1, 3, 0, 0, 0, 0, 1, 8, 0, 0, 4096), node(4)]),
        (TWO, [ProcessEndRecord(1, 0, 9)]),
        (ONE, [OptionRecord(b"depth=3"), ProcessEndRecord(1, 0, 9)]),
    ]


def encoded() -> list[bytes]:
    counts = {ONE: 0, TWO: 0}
    chunks = []
    for key, records in some_chunks():
        chunks.append(encode_chunk(key, counts[key], records))
        counts[key] += 1
    return chunks


def expected() -> list[tuple[int, Record]]:
    return [(key.pid, record) for key, records in some_chunks() for record in records]


def records_that_end_before(cut: int) -> list[tuple[int, Record]]:
    position = len(encode_file_header())
    complete: list[tuple[int, Record]] = []
    for key, records in some_chunks():
        position += 32
        for record in records:
            position += len(encode_record(record))
            if position <= cut:
                complete.append((key.pid, record))
    return complete


def test_records_of_several_processes_come_back_in_file_order(tmp_path: Path) -> None:
    found, damage = read(write(tmp_path / "r", *encoded()))
    assert found == expected()
    assert damage == Damage()


def test_a_cut_at_any_byte_keeps_every_complete_record(tmp_path: Path) -> None:
    whole = encode_file_header() + b"".join(encoded())
    path = tmp_path / "r"
    for cut in range(len(encode_file_header()), len(whole)):
        path.write_bytes(whole[:cut])
        found, damage = read(path)
        assert found == records_that_end_before(cut)
        assert damage.skipped_bytes == 0


@given(data=st.data())
def test_a_flipped_bit_costs_at_most_the_chunk_it_hits(data: st.DataObject) -> None:
    chunks = encoded()
    hit = data.draw(st.integers(0, len(chunks) - 1))
    bit = data.draw(st.integers(32 * 8, len(chunks[hit]) * 8 - 1))
    damaged = bytearray(chunks[hit])
    damaged[bit // 8] ^= 1 << bit % 8
    found = read_bytes(b"".join([*chunks[:hit], damaged, *chunks[hit + 1 :]]))
    kept = [c for index, c in enumerate(some_chunks()) if index != hit]
    assert found == [(key.pid, record) for key, records in kept for record in records]


@example(cut=136, flips=[4000], inserted=b"\0")
@given(
    cut=st.integers(0, 2000),
    flips=st.lists(st.integers(0, 8 * 1000), max_size=8),
    inserted=st.binary(max_size=40),
)
def test_no_damage_makes_the_reader_fail(
    cut: int, flips: list[int], inserted: bytes
) -> None:
    data = bytearray(b"".join(encoded()))
    places = [bit // 8 % len(data) for bit in flips]
    for bit, place in zip(flips, places, strict=True):
        data[place] ^= 1 << bit % 8
    data[cut:cut] = inserted
    first_hit = min([*places, cut])
    found = read_bytes(bytes(data))
    assert all(isinstance(record, tuple) for _, record in found)
    before = whole_chunks_before(first_hit)
    assert found[: len(before)] == before


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with memory_file(data) as path, suppress(RecordingError):
        read(path)


def read_bytes(chunks: bytes) -> list[tuple[int, Record]]:
    with memory_file(encode_file_header() + chunks) as path:
        return read(path)[0]


@contextmanager
def memory_file(data: bytes) -> Iterator[Path]:
    descriptor = os.memfd_create("recording")
    try:
        os.write(descriptor, data)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def whole_chunks_before(end: int) -> list[tuple[int, Record]]:
    complete: list[tuple[int, Record]] = []
    position = 0
    for chunk, (key, records) in zip(encoded(), some_chunks(), strict=True):
        position += len(chunk)
        if position > end:
            return complete
        complete += [(key.pid, record) for record in records]
    return complete


def test_a_lost_chunk_is_counted(tmp_path: Path) -> None:
    chunks = [encode_chunk(ONE, number, [node(number + 1)]) for number in (0, 1, 4)]
    _, damage = read(write(tmp_path / "r", *chunks))
    assert damage.missing_chunks == 2


def test_unknown_records_are_counted_and_skipped(tmp_path: Path) -> None:
    unknown = RECORD_HEADER.pack(max(LAYOUTS) + 1000, 3) + b"new"
    too_short = RECORD_HEADER.pack(TAGS[NodeRecord], 4) + b"abcd"
    body = unknown + too_short + encode_record(node(9))
    header = CHUNK_HEADER.pack(CHUNK_MAGIC, len(body), 100, 0, 7, zlib.crc32(body), 100)
    found, damage = read(write(tmp_path / "r", header, body))
    assert found == [(100, node(9))]
    assert damage.unknown_records == 2


def test_a_recording_can_be_followed_while_it_grows(tmp_path: Path) -> None:
    chunks = encoded()
    path = write(tmp_path / "r", chunks[0])
    with open_recording(path) as recording:
        assert len(list(recording.records())) == 3
        with path.open("ab") as file:
            file.write(chunks[1])
        assert [record for _, record in recording.records()] == some_chunks()[1][1]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"leak", "cut inside its header"),
        (b"\x7fELF" + bytes(200), "not a recording"),
        (b"#!/bin/sh\n", "not a recording"),
        (encode_file_header()[:8] + (VERSION + 1).to_bytes(8, "little"), "newer"),
        (encode_file_header()[:8] + bytes(8), "damaged header"),
    ],
)
def test_foreign_files_are_refused_in_one_sentence(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=reason) as raised, open_recording(path):
        pass
    assert "\n" not in str(raised.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        with pytest.raises(RecordingError), open_recording(tmp_path / name):
            pass


def test_a_new_recording_is_private_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "r"
    create_recording(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read(path) == ([], Damage())


def test_an_existing_file_or_link_is_never_taken_over(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "file").write_text("mine")
    for name in ("link", "file", "no/such/folder"):
        with pytest.raises(RecordingError):
            create_recording(tmp_path / name)
    assert not (tmp_path / "target").exists()
    assert (tmp_path / "file").read_text() == "mine"
