"""What lens `accesses` knows of the blocks of one place, added up."""

from collections import Counter
from dataclasses import dataclass, field, replace

from leakline.dynamic.stacks import StackBuilder
from leakline.dynamic.stale_curve import stale_curve
from leakline.dynamic.story import release_window
from leakline.model.finding import (
    Confidence,
    Engine,
    Finding,
    Kind,
    Staleness,
)

_MS_PER_S = 1000
_SIBLINGS_SHOWN = 4


@dataclass(slots=True)
class Touches:
    """Upper bounds of idle times, in milliseconds of the process's CPU time.

    Attributes:
        last_accesses: Blocks by the stack of the last access that was seen; 0 is none.
        longest: Blocks by the largest bound of their bucket.
        drag_byte_ms: Sum of bytes times their bounds.
        windows: All were idle for that many windows of full arming.
        used_before: Stacks that used memory shortly before a last access, by its stack.
        sibling_frees: Stacks that free other blocks of the same allocation.
    """

    last_accesses: Counter[int] = field(default_factory=Counter)
    longest: Counter[int] = field(default_factory=Counter)
    drag_byte_ms: int = 0
    windows: int | None = None
    used_before: dict[int, tuple[int, ...]] = field(default_factory=dict)
    sibling_frees: tuple[int, ...] = ()

    def add(self, other: "Touches") -> None:
        """Counts more blocks in."""
        self.last_accesses += other.last_accesses
        self.longest += other.longest
        self.drag_byte_ms += other.drag_byte_ms
        known = [one for one in (self.windows, other.windows) if one is not None]
        self.windows = min(known, default=None)
        self.used_before |= other.used_before
        both = (*self.sibling_frees, *other.sibling_frees)
        self.sibling_frees = tuple(dict.fromkeys(both))[:_SIBLINGS_SHOWN]

    @property
    def stacks(self) -> set[int]:
        """Numbers of the stacks that a finding shows."""
        before = self.used_before.get(self.main_access, ())
        return {self.main_access, *before, *self.sibling_frees} - {0}

    @property
    def main_access(self) -> int:
        """The stack of the last access of most blocks; 0 when none was seen."""
        seen = [(count, -stack) for stack, count in self.last_accesses.items() if stack]
        return -max(seen)[1] if seen else 0


def with_touches(finding: Finding, touches: Touches, builder: StackBuilder) -> Finding:
    """The finding with what lens `accesses` knows about its blocks."""
    lower = finding.staleness.lower_s if finding.staleness else None
    upper = max(touches.longest, default=0) / _MS_PER_S
    main = touches.main_access
    known = replace(
        finding,
        engines=tuple(dict.fromkeys((*finding.engines, Engine.ACCESSES))),
        confidence=_confidence(finding),
        last_access=builder.stack(main) if main else finding.last_access,
        used_before=tuple(
            builder.stack(one) for one in touches.used_before.get(main, ())
        ),
        sibling_frees=tuple(builder.stack(one) for one in touches.sibling_frees),
        staleness=Staleness(lower, upper),
        drag_byte_s=finding.drag_byte_s
        if finding.drag_byte_s is not None
        else touches.drag_byte_ms / _MS_PER_S,
        stale_curve=finding.stale_curve or stale_curve(touches.longest),
        notes=(*finding.notes, *_notes(touches, main)),
    )
    window = release_window(known)
    return replace(known, notes=(window, *known.notes)) if window else known


def _confidence(finding: Finding) -> Confidence:
    """That blocks are idle is certain only when lens `pages` says so, too."""
    is_idle = finding.kind in {Kind.STALE, Kind.NEVER_USED}
    return Confidence.LIKELY if is_idle and not finding.staleness else Confidence.EXACT


def _notes(touches: Touches, main: int) -> list[str]:
    notes = []
    elsewhere = touches.last_accesses.total() - touches.last_accesses[main]
    unseen = touches.last_accesses[0] if main else 0
    if unseen:
        elsewhere -= unseen
        notes.append(f"no access to {unseen:,} of the blocks was seen at all")
    if elsewhere:
        places = len(touches.last_accesses) - (2 if unseen else 1)
        where = "another place" if places == 1 else f"{places} other places"
        notes.append(f"{elsewhere:,} of the blocks were last used at {where}")
    if not main:
        notes.append("no access to the blocks was seen at all")
    if touches.windows:
        notes.append(
            f"no use was seen in {touches.windows} or more windows in which all code "
            "that can be armed was watched"
        )
    return notes
