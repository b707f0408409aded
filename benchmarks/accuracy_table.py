"""HashTable against its own oracle: the exact last touch of every block."""

import os
import struct
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from leakline.recording._format import (
    RawBlockRecord,
    RawTouchRecord,
    SnapshotBeginRecord,
    TrackingRecord,
)
from leakline.recording.reader import open_recording

SOURCE = Path(__file__).parent / "programs/hash_table.c"
LEAKLINE = Path(sys.executable).parent / "leakline"
WANTED_RECALL = 0.8


@dataclass(frozen=True, slots=True)
class Workload:
    """The table's size, how often it is asked, and for how long it works."""

    objects: int
    probes: int
    seed: int
    seconds: int

    @property
    def stale_after_ms(self) -> int:
        """Blocks not touched for half of the work count as stale."""
        return self.seconds * 500


@dataclass(slots=True)
class Site:
    """Blocks and drag of one allocation stack, in truth and as reported."""

    true_drag: float = 0.0
    reported_drag: float = 0.0
    has_stale: bool = False
    is_reported: bool = False


@dataclass(slots=True)
class Accuracy:
    """Counts of blocks, and the sites."""

    blocks: int = 0
    too_stale: int = 0  # blocks whose bound is above the truth: must be 0
    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    sites: dict[int, Site] = field(default_factory=lambda: defaultdict(Site))

    @property
    def precision(self) -> float:
        """Blocks that are stale, of those reported."""
        return _share(self.true_positives, self.false_positives)

    @property
    def recall(self) -> float:
        """Blocks that are reported, of those stale."""
        return _share(self.true_positives, self.false_negatives)

    @property
    def weighted_precision(self) -> float:
        """Reported drag of sites that have stale blocks, of all reported drag."""
        reported = [site for site in self.sites.values() if site.is_reported]
        good = sum(site.reported_drag for site in reported if site.has_stale)
        return _ratio(good, sum(site.reported_drag for site in reported))

    @property
    def weighted_recall(self) -> float:
        """True drag of reported sites, of that of all sites with stale blocks."""
        stale = [site for site in self.sites.values() if site.has_stale]
        found = sum(site.true_drag for site in stale if site.is_reported)
        return _ratio(found, sum(site.true_drag for site in stale))

    def is_good(self) -> bool:
        """Whether the goals are met."""
        return (
            self.too_stale == 0
            and self.precision == self.weighted_precision == 1.0
            and self.weighted_recall == 1.0
            and self.recall >= WANTED_RECALL
        )


def measure(workload: Workload, scratch: Path) -> Accuracy:
    """Run the program under lens pages and compare every block with the truth."""
    recording, touched = _run(workload, "pages", scratch)
    result = _compare(recording, touched, workload.stale_after_ms)
    recording.unlink()
    return result


def measure_lenses(workload: Workload, scratch: Path) -> dict[str, Accuracy]:
    """Run it under both lenses; what accesses says alone, and what both agree on."""
    recording, touched = _run(workload, "pages,accesses", scratch)
    joined = _compare(recording, touched, workload.stale_after_ms)
    alone = _compare_touches(recording, touched, workload.stale_after_ms)
    recording.unlink()
    return {"accesses": alone, "pages,accesses": joined}


def _run(workload: Workload, lenses: str, scratch: Path) -> tuple[Path, dict[int, int]]:
    """Return the recording of a run, and when each block was last touched."""
    program = scratch / "hash_table"
    subprocess.run(["gcc", "-O2", "-g", SOURCE, "-o", program], check=True)
    recording, truth = scratch / f"table-{workload.seed}", scratch / "truth"
    words = [workload.objects, workload.probes, workload.seed, workload.seconds, truth]
    subprocess.run(
        [
            *(LEAKLINE, "run", "--lens", lenses, "-o", recording, "--", program),
            *map(str, words),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LEAKLINE_OPTIONS": "raw_blocks=1"},
    )
    return recording, dict(struct.iter_unpack("<QQ", truth.read_bytes()))


def _compare_touches(
    recording: Path, touched: dict[int, int], stale_after_ms: int
) -> Accuracy:
    accuracy = Accuracy()
    now_ms = 0.0
    with open_recording(recording) as file:
        for _, record in file.records():
            if isinstance(record, SnapshotBeginRecord):
                now_ms = record.cpu_ns / 1e6
            elif isinstance(record, RawTouchRecord) and record.address in touched:
                true_ms = now_ms - touched[record.address] / 1e6
                reported_ms = record.idle_ms if record.windows else 0
                _count_stale(accuracy, true_ms, reported_ms, stale_after_ms)
    return accuracy


def _count_stale(
    accuracy: Accuracy, true_ms: float, reported_ms: int, stale_after_ms: int
) -> tuple[bool, bool]:
    is_stale = true_ms >= stale_after_ms
    is_reported = reported_ms >= stale_after_ms
    accuracy.blocks += 1
    accuracy.true_positives += is_stale and is_reported
    accuracy.false_positives += is_reported and not is_stale
    accuracy.false_negatives += is_stale and not is_reported
    return is_stale, is_reported


def _compare(recording: Path, touched: dict[int, int], stale_after_ms: int) -> Accuracy:
    accuracy = Accuracy()
    now_ms = 0
    with open_recording(recording) as file:
        for _, record in file.records():
            if isinstance(record, TrackingRecord):
                now_ms = record.now_ms
            elif isinstance(record, RawBlockRecord) and record.address in touched:
                true_ms = now_ms + 1 - touched[record.address] / 1e6
                _count(accuracy, record, true_ms, stale_after_ms)
    return accuracy


def _count(
    accuracy: Accuracy, record: RawBlockRecord, true_ms: float, stale_after_ms: int
) -> None:
    is_stale, is_reported = _count_stale(
        accuracy, true_ms, record.lower_ms, stale_after_ms
    )
    accuracy.too_stale += record.lower_ms > true_ms
    site = accuracy.sites[record.stack]
    site.true_drag += record.size * true_ms if is_stale else 0
    site.reported_drag += record.size * record.lower_ms if is_reported else 0
    site.has_stale |= is_stale
    site.is_reported |= is_reported


def _share(good: int, bad: int) -> float:
    return _ratio(good, good + bad)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


def render(workload: Workload, result: Accuracy) -> str:
    """One line for a run."""
    return (
        f"HashTable {workload.objects:,} objects, {workload.probes:,} probes, seed "
        f"{workload.seed}: {result.blocks:,} blocks, {result.too_stale} too stale; "
        f"precision {result.precision:.3f}, weighted {result.weighted_precision:.3f}; "
        f"recall {result.recall:.3f}, weighted {result.weighted_recall:.3f}"
    )


def render_lenses(workload: Workload, results: dict[str, Accuracy]) -> str:
    """One line for each way to look, beside the published figures."""
    lines = [f"HashTable {workload.objects:,} objects, precision and recall of blocks:"]
    lines += [
        f"  {lenses:16} {result.precision:.3f} {result.recall:.3f}"
        for lenses, result in results.items()
    ]
    lines += ["  Hound, published 1.000 0.590", "  SWAT, published  0.500 1.000"]
    return "\n".join(lines)
