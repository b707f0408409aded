"""Records that recordings made by hand share.

Their modules exist on no machine, so that every machine reports the same.
"""

from leakline.recording._format import (
    Group,
    GroupRecord,
    ModuleRecord,
    NodeRecord,
    OptionRecord,
    Origin,
    ProcessEndRecord,
    ProcessStartRecord,
    Record,
    Trigger,
)

SECOND_NS = 1_000_000_000
_BASE = 0x555500000000


def started(pid: int, program: str, lenses: str) -> list[Record]:
    """A process with one module and a tree of four places: 1 - 2 - 3 and 1 - 4."""
    words = f"/no/such/{program}\0{program}\0--all".encode()
    path = b"/no/such/app"
    return [
        ProcessStartRecord(pid, 1, Origin.EXEC, 0, SECOND_NS, words),
        OptionRecord(f"lens={lenses}".encode()),
        ModuleRecord(1, 0, _BASE, _BASE, _BASE + 0x10000, 0, 0, path),
        *(_node(number, parent) for number, parent in ((1, 0), (2, 1), (3, 2), (4, 1))),
    ]


def _node(number: int, parent: int) -> Record:
    return NodeRecord(number, parent, _BASE + 0x100 * number, 1, 0, 0)


def group(  # noqa: PLR0913 (a record has that many parts)
    kind: Group,
    stack: int,
    blocks: int,
    *,
    leader: int = 0,
    loss: int = 0,
    cause: int = 0,
) -> Record:
    """Blocks of ten bytes each."""
    return GroupRecord(
        kind, stack, leader, loss, cause, 0, blocks, 10 * blocks, 0, 0, 0x10000
    )


def ended() -> Record:
    """The process returned 0."""
    return ProcessEndRecord(Trigger.EXIT, 0, 9 * SECOND_NS)
