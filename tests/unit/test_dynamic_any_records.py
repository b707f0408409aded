"""Whatever the records of a recording hold, a report comes out."""

import os
from pathlib import Path
from typing import get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from leakline.dynamic.load import ALL_KINDS, load
from leakline.recording._format import LAYOUTS, Layout, Record
from leakline.recording.chunks import ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header

WIDTHS = {"H": 16, "I": 32, "Q": 64, "q": 63}


def small_or_any(bits: int) -> st.SearchStrategy[int]:
    """Small numbers often, so that ids meet; extreme ones too."""
    top = (1 << bits) - 1
    return st.one_of(
        st.integers(0, 4), st.sampled_from([top, top - 1]), st.integers(0, top)
    )


def records_of(layout: Layout) -> st.SearchStrategy[Record]:
    codes = layout.fields.format.removeprefix("<")
    values: list[st.SearchStrategy[int | bytes]] = [
        small_or_any(WIDTHS[code]) for code in codes
    ]
    if layout.has_text:
        values.append(st.binary(max_size=30))
    return st.tuples(*values).map(layout.record._make)


RECORDS = st.one_of([records_of(layout) for layout in LAYOUTS.values()])
PROCESSES = st.builds(ProcessKey, st.integers(1, 3), st.integers(1, 2))
CHUNKS = st.lists(
    st.tuples(PROCESSES, st.integers(0, 3), st.lists(RECORDS, max_size=12)), max_size=8
)


@settings(max_examples=300)
@given(CHUNKS)
def test_any_records_give_a_report(
    chunks: list[tuple[ProcessKey, int, list[Record]]],
) -> None:
    descriptor = os.memfd_create("recording")
    try:
        os.write(descriptor, encode_file_header())
        for number, (process, writer, records) in enumerate(chunks):
            os.write(descriptor, encode_chunk(process, number, records, writer=writer))
        path = Path(f"/proc/self/fd/{descriptor}")
        report = load(path, show=ALL_KINDS)
        assert report == load(path, show=ALL_KINDS)
    finally:
        os.close(descriptor)


def test_every_record_has_known_field_widths() -> None:
    for layout in LAYOUTS.values():
        count = len(layout.fields.format.removeprefix("<")) + layout.has_text
        assert len(get_type_hints(layout.record)) == count
