"""Virtual compaction on whole programs: memory is saved, and nobody notices."""

from pathlib import Path

import pytest

from leakline.recording._format import MergingRecord

from .command import Build, leakline
from .preload import Recorded, run_both_ways


def merge(build: Build, folder: Path, what: str) -> Recorded:
    """Run the program, whose output tells whether all blocks kept their contents."""
    program = build("pages_sparse.c", "-O1", "-pthread")
    return run_both_ways([program, what], folder, lens="pages", compact=1)


@pytest.mark.parametrize("what", ["", "fork"])
def test_idle_pages_share_memory_and_keep_their_contents(
    build: Build, tmp_path: Path, what: str
) -> None:
    merging = merge(build, tmp_path, what).of(MergingRecord)[-1]
    assert merging.merged_pages > merging.shelves > 0
    assert 0 < merging.longest_stop_ns <= merging.stopped_ns
    assert merging.footprint_bytes > 0
    text = " ".join(leakline("report", tmp_path / "recording").stdout.split())
    assert f"{merging.merged_pages:,} idle pages lie on" in text


def test_nothing_is_merged_unless_asked_for(build: Build, tmp_path: Path) -> None:
    program = build("pages_staleness.c", "-O1")
    recorded = run_both_ways([program, "0.2"], tmp_path, lens="pages")
    assert not recorded.of(MergingRecord)
