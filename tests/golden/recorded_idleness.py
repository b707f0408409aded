"""A recording made by hand, kept as a file: a process that two lenses watched.

Blocks of stack 3 are idle by lens pages and by lens accesses, those of stack 4 were
never used, and those of stack 2 are in use.
"""

from leakline.recording._format import (
    ClocksRecord,
    Group,
    HeapTotalsRecord,
    Idle,
    IdleRecord,
    Record,
    Reference,
    ReferenceRecord,
    SamplingRecord,
    SiblingFreeRecord,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    TouchedRecord,
    Tracking,
    TrackingRecord,
    Trigger,
    UsedBeforeRecord,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header

from .records import SECOND_NS, ended, group, started

_PROCESS = ProcessKey(100, 1_000_000)
_NOW_MS = 20_000
_UNUSED = Idle.LOWER | Idle.NEVER_USED


def made() -> bytes:
    """The bytes of the recording."""
    lenses = started(100, "server", "reach,pages,accesses")
    records = [*lenses, *_look(), ended()]
    return encode_file_header() + encode_chunk(_PROCESS, 0, records)


def _look() -> list[Record]:
    at_ns = 25 * SECOND_NS
    return [
        SnapshotBeginRecord(1, Trigger.EXIT, 0, 1, 0, 0, at_ns, at_ns),
        group(Group.REACHABLE, 2, 6),
        group(Group.REACHABLE, 3, 40),
        group(Group.REACHABLE, 4, 30),
        *_pages(),
        *_accesses(),
        ReferenceRecord(3, Reference.BLOCK, 2, 8, 4, 0, 40),
        HeapTotalsRecord(76, 760, 90, 14, 1000, 2000, 1),
        SnapshotEndRecord(1, 5),
    ]


def _pages() -> list[Record]:
    return [
        IdleRecord(3, 0, Idle.LOWER, 0, 5_000, 6_000, 0, 30, 300, 1_600_000),
        IdleRecord(3, 0, Idle.LOWER, 0, 8_000, 9_000, 0, 10, 100, 850_000),
        IdleRecord(4, 0, _UNUSED, 0, 15_000, 15_500, 0, 30, 300, 4_600_000),
        TrackingRecord(Tracking.ACTIVE, 1, 700, 40, 900, 80, 90, 1 << 20, 9, _NOW_MS),
        ClocksRecord(10_000, 40_000, 60),
        ClocksRecord(_NOW_MS, 70_000, 90),
    ]


def _accesses() -> list[Record]:
    reachable = Group.REACHABLE
    return [
        TouchedRecord(reachable, 3, 2, 9, 8_500, 9_500, 700, 40, 400, 3_500_000),
        TouchedRecord(reachable, 4, 0, 20, 16_000, 16_000, 0, 30, 300, 4_800_000),
        UsedBeforeRecord(2, 4, 1, 0, 0, 0),
        SiblingFreeRecord(3, 4),
        SamplingRecord(500, 20_000, 20, 200_000_000, 90_000_000, 300, 0),
    ]
