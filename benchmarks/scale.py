"""How cost grows with the heap: marking time, memory, recording and report."""

import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Command, run
from benchmarks.modes import LEAKLINE, PLAIN
from benchmarks.table import markdown
from benchmarks.workloads import wrapped
from leakline.recording._format import HeapTotalsRecord
from leakline.recording.reader import open_recording

SOURCE = Path(__file__).parent / "programs/many_blocks.c"
LEAKLINE_COMMAND = Path(sys.executable).parent / "leakline"

# Blocks live at the end, allocations in all; the last rows are the promises.
SIZES = (
    (10_000, 100_000),
    (100_000, 1_000_000),
    (1_000_000, 10_000_000),
    (10_000_000, 100_000_000),
    (50_000_000, 50_000_000),
)


@dataclass(frozen=True, slots=True)
class Growth:
    """One run of the allocating program."""

    live_blocks: int
    allocations: int
    plain_cpu_s: float
    cpu_s: float
    plain_peak_mb: float
    peak_mb: float
    mark_s: float
    recording_mb: float
    report_s: float

    def as_dict(self) -> dict[str, Any]:
        """Return the raw numbers."""
        return asdict(self)


def measure(scratch: Path) -> list[Growth]:
    """Run the series from small to large."""
    program = scratch / "many_blocks"
    subprocess.run(["gcc", "-O2", "-g", SOURCE, "-o", program], check=True)
    return [_measure_one(program, scratch, *size) for size in SIZES]


def _measure_one(program: Path, scratch: Path, live: int, allocations: int) -> Growth:
    command = Command((str(program), str(live), str(allocations)), (), scratch)
    plain = run(wrapped(command, PLAIN.wrap(scratch)))
    watched = run(wrapped(command, LEAKLINE.wrap(scratch)))
    recording = scratch / "recording"
    begun = time.monotonic()
    subprocess.run(
        [LEAKLINE_COMMAND, "report", recording], check=False, capture_output=True
    )
    report_s = time.monotonic() - begun
    return Growth(
        live_blocks=live,
        allocations=allocations,
        plain_cpu_s=plain.cpu_s,
        cpu_s=watched.cpu_s,
        plain_peak_mb=plain.peak_kib / 1024,
        peak_mb=watched.peak_kib / 1024,
        mark_s=_mark_s(recording),
        recording_mb=recording.stat().st_size / 2**20,
        report_s=report_s,
    )


def _mark_s(recording: Path) -> float:
    with open_recording(recording) as opened:
        return max(
            record.mark_ns / 1e9
            for _, record in opened.records()
            if isinstance(record, HeapTotalsRecord)
        )


HEAD = (
    "live blocks",
    "allocations",
    "CPU x",
    "peak x",
    "mark s",
    "mark ns/block",
    "recording MB",
    "report s",
)


def render(series: list[Growth]) -> str:
    """Return the growth table."""
    return markdown([list(HEAD), *map(_row, series)]) if series else ""


def _row(growth: Growth) -> list[str]:
    return [
        f"{growth.live_blocks:,}",
        f"{growth.allocations:,}",
        f"{growth.cpu_s / growth.plain_cpu_s:.2f}",
        f"{growth.peak_mb / growth.plain_peak_mb:.2f}",
        f"{growth.mark_s:.2f}",
        f"{growth.mark_s * 1e9 / growth.live_blocks:.0f}",
        f"{growth.recording_mb:.3f}",
        f"{growth.report_s:.2f}",
    ]
