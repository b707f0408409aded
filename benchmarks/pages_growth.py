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
from leakline.recording._format import TrackingRecord
from leakline.recording.reader import open_recording

SOURCE = Path(__file__).parent / "programs/idle_heap.c"
SIZES_MB = (100, 400, 1600, 8000)
STEPS = 20_000_000
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
