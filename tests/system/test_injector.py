"""Injected leaks: every free that is left out is recorded, and found again."""

from pathlib import Path

from leakline.recording._format import SkippedFreeRecord

from .command import Build
from .preload import Recorded, run_both_ways


def run(build: Build, folder: Path, **options: object) -> Recorded:
    folder.mkdir()
    program = build("injected_leaks.c", "-O1")
    return run_both_ways([program], folder, None, **options)


def sizes(recorded: Recorded) -> list[int]:
    return [record.size for record in recorded.of(SkippedFreeRecord)]


def test_what_is_not_freed_is_lost(build: Build, tmp_path: Path) -> None:
    recorded = run(build, tmp_path / "all", skip_free=100)
    skipped = sizes(recorded)
    assert set(skipped) == {50, 500}
    assert 150 < len(skipped) < 250
    assert sum(recorded.lost_bytes()) == sum(skipped)


def test_the_range_of_sizes_is_kept(build: Build, tmp_path: Path) -> None:
    recorded = run(
        build, tmp_path / "some", skip_free=1000, skip_free_least=100, lens="pages"
    )
    assert sizes(recorded) == [500] * 1000


def test_a_seed_always_chooses_the_same(build: Build, tmp_path: Path) -> None:
    one, again, other = (
        sizes(run(build, tmp_path / name, skip_free=100, skip_free_seed=seed))
        for name, seed in (("one", 7), ("again", 7), ("other", 8))
    )
    assert one == again
    assert one != other


def test_nothing_is_skipped_unless_asked_for(build: Build, tmp_path: Path) -> None:
    recorded = run(build, tmp_path / "none")
    assert sizes(recorded) == []
    assert recorded.lost_bytes() == []
