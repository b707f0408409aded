"""Conditions that go together: what joined states knew, each on its own.

A range says what holds of one number. Where two states meet, one may know that `a` is
zero and the other that `b` is: callers who ask about both must hear that one of them
is, or they would follow calls that cannot follow each other.
"""

from leakline.static.engine.context import Context
from leakline.static.engine.naming import nameable
from leakline.static.engine.ranges import Range, narrowed
from leakline.static.engine.state import Known, State

_MOST_ALTERNATIVES = 4
_MOST_CONDITIONS = 6


def joined_alternatives(
    ctx: Context, s: State, other: State, ranges: dict[int, Range]
) -> tuple[Known, ...]:
    """What one of two states that become one knew; `ranges` is what both know."""
    if s.ranges is other.ranges and s.alternatives == other.alternatives:
        return s.alternatives
    found: dict[Known, None] = {}
    for state in (s, other):
        own = _lost(ctx, state, ranges)
        for known in possible_alternatives(state) or ((),):
            merged = {**dict(known), **own}
            if len(merged) > _MOST_CONDITIONS:
                return ()
            found[tuple(sorted(merged.items()))] = None
    if () in found or len(found) > _MOST_ALTERNATIVES:
        return ()
    return tuple(found)


def _lost(ctx: Context, s: State, ranges: dict[int, Range]) -> dict[int, Range]:
    """What the state knows of callers' memory and the join does not."""
    return {
        base: known
        for base, known in s.ranges.items()
        if ranges.get(base) != known and nameable(ctx, base)
    }


def possible_alternatives(s: State) -> tuple[Known, ...]:
    """Those alternatives that what is known by now does not rule out."""
    return tuple(known for known in s.alternatives if _may_hold(s, known))


def _may_hold(s: State, known: Known) -> bool:
    for base, allowed in known:
        now = s.ranges.get(base)
        if now is not None and narrowed(now, allowed) is None:
            return False
    return True
