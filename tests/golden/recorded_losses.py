"""A recording made by hand, kept as a file: two processes, every kind of loss.

Its modules exist on no machine, so that every machine reports the same.
"""

from leakline.recording._format import (
    Cause,
    Group,
    HeapTotalsRecord,
    NotSeen,
    NotSeenRecord,
    Record,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    Trigger,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header

from .records import SECOND_NS, ended, group, started

_PARENT = ProcessKey(100, 1_000_000)
_CHILD = ProcessKey(101, 2_000_000)


def made() -> bytes:
    """The bytes of the recording."""
    return encode_file_header() + b"".join(
        [
            encode_chunk(_PARENT, 0, [*_start(100, "server"), *_look(1, 3)]),
            encode_chunk(_PARENT, 1, [*_look(2, 5), ended()]),
            encode_chunk(_CHILD, 0, [*_start(101, "worker"), *_look(1, 2)]),
            encode_chunk(_CHILD, 1, [ended()]),
        ]
    )


def _start(pid: int, program: str) -> list[Record]:
    return [
        *started(pid, program, "reach,loss"),
        NotSeenRecord(NotSeen.THREAD, 7, b"thread 7 could not be stopped"),
    ]


def _look(number: int, blocks: int) -> list[Record]:
    """What a look found; there is more of it each time."""
    at_ns = SECOND_NS * (1 + number)
    trigger = Trigger.PERIODIC if number == 1 else Trigger.EXIT
    return [
        SnapshotBeginRecord(number, trigger, 0, 1, 0, 0, at_ns, at_ns),
        group(Group.LOST, 3, blocks, loss=4, cause=Cause.OVERWRITTEN),
        group(Group.LOST, 2, blocks, loss=4, cause=Cause.CONTAINER_FREED),
        group(Group.LOST, 4, blocks, cause=Cause.NOT_IN_MEMORY),
        group(Group.INDIRECT, 2, 2 * blocks, leader=3),
        group(Group.REACHABLE, 1, 7),
        HeapTotalsRecord(5 * blocks + 7, 50 * blocks + 70, 90, 60, 1000, 2000, 1),
        SnapshotEndRecord(number, 5),
    ]
