"""How the cost of lens `pages` grows with the heap: the same work, more idle memory."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.modes import (
    PLAIN,
    Mode,
    leakline_pages,
    leakline_pages_unwatched,
)
from benchmarks.table import markdown
from leakline.recording._format import IdleRecord, TrackingRecord
from leakline.recording.reader import open_recording

SOURCE = Path(__file__).parent / "programs/idle_heap.c"
SIZES_MB = (100, 400, 1600, 8000)
STEPS = 20_000_000
LONG_STEPS = 6 * STEPS  # about a minute of CPU time
STALE_AFTER_MS = 1000
BLOCK_BYTES = 1000
IDLE_SHARE = 0.95  # of all blocks, which the program never uses again
MODES = (
    PLAIN,
    Mode("pages", leakline_pages),
    Mode("unwatched", leakline_pages_unwatched),
)


@dataclass(frozen=True, slots=True)
class Growth:
    """One heap.

    Attributes:
        size_mb: Of all blocks.
        work_s: CPU time of the work, by mode, one for each round.
        scan_s: CPU time of the companion, one for each round.
        watched: Share of the heap's pages that were watched at the end, in each round.
    """

    size_mb: int
    work_s: dict[str, list[float]]
    scan_s: list[float]
    watched: list[float]


def measure(scratch: Path, sizes_mb: tuple[int, ...], rounds: int) -> list[Growth]:
    """Run the series from small to large."""
    program = scratch / "idle_heap"
    subprocess.run(["gcc", "-O2", SOURCE, "-o", program], check=True)
    return [_measure_one(program, scratch, size, rounds) for size in sizes_mb]


def _measure_one(program: Path, scratch: Path, size_mb: int, rounds: int) -> Growth:
    growth = Growth(size_mb, {mode.name: [] for mode in MODES}, [], [])
    for _ in range(rounds):
        for mode in MODES:
            environment = {**os.environ, **dict(mode.wrap(scratch).environment)}
            done = subprocess.run(
                [program, str(size_mb), str(STEPS)],
                env=environment,
                check=True,
                capture_output=True,
            )
            growth.work_s[mode.name].append(int(done.stdout) / 1e6)
            if mode.name == "pages":
                tracking = _tracking(scratch / "recording")
                growth.scan_s.append(tracking.scan_ns / 1e9)
                growth.watched.append(tracking.watched_pages / tracking.pages)
    return growth


@dataclass(frozen=True, slots=True)
class Found:
    """What of a heap is told to be idle after long work.

    Attributes:
        size_mb: Of all blocks.
        work_s: CPU time of the work.
        scan_s: CPU time of the companion.
        recall: Blocks told to be idle for a second or more, of those that are.
    """

    size_mb: int
    work_s: float
    scan_s: float
    recall: float


def find(scratch: Path, sizes_mb: tuple[int, ...]) -> list[Found]:
    """Work for about a minute on each heap, under the lens alone."""
    program = scratch / "idle_heap"
    subprocess.run(["gcc", "-O2", SOURCE, "-o", program], check=True)
    return [_find_one(program, scratch, size) for size in sizes_mb]


def _find_one(program: Path, scratch: Path, size_mb: int) -> Found:
    environment = {**os.environ, **dict(leakline_pages(scratch).environment)}
    done = subprocess.run(
        [program, str(size_mb), str(LONG_STEPS)],
        env=environment,
        check=True,
        capture_output=True,
    )
    recording = scratch / "recording"
    with open_recording(recording) as opened:
        found = sum(
            record.blocks
            for _, record in opened.records()
            if isinstance(record, IdleRecord) and record.lower_ms >= STALE_AFTER_MS
        )
    idle = size_mb * 1_000_000 / BLOCK_BYTES * IDLE_SHARE
    scan_s = _tracking(recording).scan_ns / 1e9
    return Found(size_mb, int(done.stdout) / 1e6, scan_s, found / idle)


def render_found(found: list[Found]) -> str:
    """One row for each heap."""
    rows = [["heap MB", "CPU s", "companion s", "idle blocks found"]]
    rows += [
        [
            f"{one.size_mb:,}",
            f"{one.work_s:.1f}",
            f"{one.scan_s:.2f}",
            f"{one.recall:.1%}",
        ]
        for one in found
    ]
    return markdown(rows)


def _tracking(recording: Path) -> TrackingRecord:
    with open_recording(recording) as opened:
        return [
            record
            for _, record in opened.records()
            if isinstance(record, TrackingRecord)
        ][-1]


HEAD = ("heap MB", "plain s", "pages x", "without scans x", "companion s", "watched")


def render(series: list[Growth]) -> str:
    """Medians over the rounds; ratios are those within a round."""
    return markdown([list(HEAD), *map(_row, series)])


def _row(growth: Growth) -> list[str]:
    plain = growth.work_s["plain"]
    return [
        f"{growth.size_mb:,}",
        f"{median(plain):.2f}",
        *(_ratio(plain, growth.work_s[name]) for name in ("pages", "unwatched")),
        f"{median(growth.scan_s):.2f}",
        f"{median(growth.watched):.0%}",
    ]


def _ratio(plain: list[float], mode: list[float]) -> str:
    return f"{median(b / a for a, b in zip(plain, mode, strict=True)):.3f}"
