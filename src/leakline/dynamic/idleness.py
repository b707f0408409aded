"""How long blocks of one place have been idle, added up over processes and buckets."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from leakline.dynamic.stacks import StackBuilder
from leakline.dynamic.stale_curve import stale_curve
from leakline.model.finding import Engine, Finding, Staleness
from leakline.model.stack import Stack

_MS_PER_S = 1000


class Passed(NamedTuple):
    """What passed at least while blocks were idle, by other clocks."""

    wall_ms: int
    allocations: int


@dataclass(slots=True)
class Idleness:
    """Lower bounds in milliseconds of the process's CPU time.

    Attributes:
        blocks: How many blocks were idle at least that long, by bound.
        part_bytes: Bytes on idle pages of large blocks that are in use elsewhere.
        drag_byte_ms: Sum of bytes times their bounds.
        shortest_ms: The smallest bound of all.
        longest_ms: The largest bound of any block.
        passed: Since the shortest bound, by other clocks; None: not known.
        last_touches: Bytes on pages by the last touch that was noted of them, as far as
            any was: numbers of the stack table.
    """

    blocks: Counter[int] = field(default_factory=Counter)
    part_bytes: int = 0
    drag_byte_ms: int = 0
    shortest_ms: int | None = None
    longest_ms: int = 0
    passed: Passed | None = None
    last_touches: Counter[int] = field(default_factory=Counter)

    def add(self, other: "Idleness") -> None:
        """Counts more blocks in."""
        self.blocks += other.blocks
        self.part_bytes += other.part_bytes
        self.drag_byte_ms += other.drag_byte_ms
        self.longest_ms = max(self.longest_ms, other.longest_ms)
        known = [one for one in (self.passed, other.passed) if one is not None]
        self.passed = Passed(*map(min, zip(*known, strict=True))) if known else None
        bounds = [
            one for one in (self.shortest_ms, other.shortest_ms) if one is not None
        ]
        self.shortest_ms = min(bounds, default=None)
        self.last_touches += other.last_touches

    @property
    def main_touch(self) -> int:
        """The last touch noted of most bytes; 0 when none was."""
        noted = [(size, -stack) for stack, size in self.last_touches.items()]
        return -max(noted)[1] if noted else 0


def with_idleness(finding: Finding, idle: Idleness, builder: StackBuilder) -> Finding:
    """The finding with what lens `pages` knows about its blocks."""
    touch = builder.stack(idle.main_touch) if idle.main_touch else None
    return replace(
        finding,
        engines=(Engine.PAGES,),
        staleness=Staleness((idle.shortest_ms or 0) / _MS_PER_S, None),
        drag_byte_s=idle.drag_byte_ms / _MS_PER_S,
        stale_curve=stale_curve(idle.blocks),
        last_access=touch,
        notes=(*finding.notes, *_notes(idle, touch)),
    )


def _notes(idle: Idleness, touch: Stack | None) -> list[str]:
    notes = []
    total = idle.blocks.total()
    if total > 1:
        half = _bound_of_share(idle.blocks, total // 2)
        notes.append(
            f"half of the blocks unused for {half / _MS_PER_S:.1f} s or more, the "
            f"longest for {idle.longest_ms / _MS_PER_S:.1f} s; drag "
            f"{idle.drag_byte_ms / _MS_PER_S:,.0f} byte-seconds"
        )
    if idle.passed is not None:
        notes.append(
            f"meanwhile at least {idle.passed.wall_ms / _MS_PER_S:.1f} s passed by the "
            f"wall clock; blocks allocated in that time: "
            f"{idle.passed.allocations:,}"
        )
    if touch is not None:
        notes.append(_touch_note(idle, touch))
    if idle.part_bytes:
        notes.append(
            f"{idle.part_bytes:,} bytes of it are unused pages of large blocks that "
            "were used elsewhere more recently"
        )
    return notes


def _touch_note(idle: Idleness, touch: Stack) -> str:
    """What the stack stands for: pages are watched only at times."""
    of_main = idle.last_touches[idle.main_touch]
    others = len(idle.last_touches) - 1
    rest = f", others by {others} other places" if others else ""
    return (
        f"pages with {of_main:,} bytes of it were last seen used by "
        f"{touch.frames[0].function or 'unknown code'}{rest}; uses while a page was not "
        "watched are not known"
    )


def _bound_of_share(blocks: Counter[int], count: int) -> int:
    """The largest bound that more than `count` blocks reach."""
    reached = 0
    for bound_ms in sorted(blocks, reverse=True):
        reached += blocks[bound_ms]
        if reached > count:
            return bound_ms
    return 0
