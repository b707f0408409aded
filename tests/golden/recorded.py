"""A recording made by hand, kept as a file: two processes, every kind of loss.

Its modules exist on no machine, so that every machine reports the same.
"""

from pathlib import Path

from leakline.recording._format import (
    Cause,
    Group,
    GroupRecord,
    HeapTotalsRecord,
    ModuleRecord,
    NodeRecord,
    NotSeen,
    NotSeenRecord,
    OptionRecord,
    Origin,
    ProcessEndRecord,
    ProcessStartRecord,
    Record,
    SnapshotBeginRecord,
    SnapshotEndRecord,
    Trigger,
)
from leakline.recording.chunks import ProcessKey
from leakline.recording.encode import encode_chunk, encode_file_header

FILE = Path(__file__).parent / "recordings" / "two-processes.leakline"

_PARENT = ProcessKey(100, 1_000_000)
_CHILD = ProcessKey(101, 2_000_000)
_BASE = 0x555500000000
_SECOND_NS = 1_000_000_000


def made() -> bytes:
    """The bytes of the recording."""
    return encode_file_header() + b"".join(
        [
            encode_chunk(_PARENT, 0, [*_start(100, "server"), *_look(1, 3)]),
            encode_chunk(_PARENT, 1, [*_look(2, 5), _ended()]),
            encode_chunk(_CHILD, 0, [*_start(101, "worker"), *_look(1, 2)]),
            encode_chunk(_CHILD, 1, [_ended()]),
        ]
    )


def _start(pid: int, program: str) -> list[Record]:
    words = f"/no/such/{program}\0{program}\0--all".encode()
    path = b"/no/such/app"
    return [
        ProcessStartRecord(pid, 1, Origin.EXEC, 0, _SECOND_NS, words),
        OptionRecord(b"lens=reach,loss"),
        ModuleRecord(1, 0, _BASE, _BASE, _BASE + 0x10000, 0, 0, path),
        NotSeenRecord(NotSeen.THREAD, 7, b"thread 7 could not be stopped"),
        *(_node(number, parent) for number, parent in ((1, 0), (2, 1), (3, 2), (4, 1))),
    ]


def _node(number: int, parent: int) -> Record:
    return NodeRecord(number, parent, _BASE + 0x100 * number, 1, 0, 0)


def _look(number: int, blocks: int) -> list[Record]:
    """What a look found; there is more of it each time."""
    at_ns = _SECOND_NS * (1 + number)
    trigger = Trigger.PERIODIC if number == 1 else Trigger.EXIT
    return [
        SnapshotBeginRecord(number, trigger, 0, 1, 0, 0, at_ns, at_ns),
        _group(Group.LOST, 3, blocks, loss=4, cause=Cause.OVERWRITTEN),
        _group(Group.LOST, 2, blocks, loss=4, cause=Cause.CONTAINER_FREED),
        _group(Group.LOST, 4, blocks, cause=Cause.NOT_IN_MEMORY),
        _group(Group.INDIRECT, 2, 2 * blocks, leader=3),
        _group(Group.REACHABLE, 1, 7),
        HeapTotalsRecord(5 * blocks + 7, 50 * blocks + 70, 90, 60, 1000, 2000, 1),
        SnapshotEndRecord(number, 5),
    ]


def _group(  # noqa: PLR0913 (a record has that many parts)
    kind: Group,
    stack: int,
    blocks: int,
    *,
    leader: int = 0,
    loss: int = 0,
    cause: int = 0,
) -> Record:
    return GroupRecord(
        kind, stack, leader, loss, cause, 0, blocks, 10 * blocks, 0, 0, 0x10000
    )


def _ended() -> Record:
    return ProcessEndRecord(Trigger.EXIT, 0, 9 * _SECOND_NS)
