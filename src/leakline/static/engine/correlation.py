"""Conditions that go together: what joined states knew, each on its own.

A range says what holds of one number. Where two states meet, one may know that `a` is
zero and the other that `b` is: callers who ask about both must hear that one of them
is, or they would follow calls that cannot follow each other.
"""

from typing import NamedTuple

from leakline.static.engine.context import Context
from leakline.static.engine.naming import nameable
from leakline.static.engine.ranges import ANY, Range, contains, hull, narrowed
from leakline.static.engine.state import Known, State

_MOST_ALTERNATIVES = 8
_MOST_CONDITIONS = 12
_MOST_LINKS = 3


class Link(NamedTuple):
    """A value that was joined: its base, and what each of the two states knew of it."""

    base: int
    mine: Range
    theirs: Range


def joined_alternatives(
    ctx: Context,
    s: State,
    other: State,
    ranges: dict[int, Range],
    links: list[Link],
) -> tuple[Known, ...]:
    """What one of two states that become one knew; `ranges` is what both know.

    Where a joined value is null in one of them only, asking for it later tells them
    apart again.
    """
    if s.ranges is other.ranges and s.alternatives == other.alternatives:
        return s.alternatives
    telling = [link for link in links if _tells(link)][:_MOST_LINKS]
    found = _alternatives(ctx, s, other, ranges, telling)
    if not _are_few(found):
        return ()
    return tuple(tuple(sorted(known.items())) for known in found)


def _alternatives(
    ctx: Context, s: State, other: State, ranges: dict[int, Range], links: list[Link]
) -> list[dict[int, Range]]:
    found: list[dict[int, Range]] = []
    mine = {link.base: link.mine for link in links if link.mine != ANY}
    theirs = {link.base: link.theirs for link in links if link.theirs != ANY}
    for state, linked in ((s, mine), (other, theirs)):
        own = _lost(ctx, state, ranges)
        own.update(linked)
        for known in possible_alternatives(state) or ((),):
            _add(found, _both(dict(known), own))
    return found


def _are_few(found: list[dict[int, Range]]) -> bool:
    """Whether alternatives are worth carrying along."""
    if {} in found or len(found) > _MOST_ALTERNATIVES:
        return False
    return max(map(len, found)) <= _MOST_CONDITIONS


def _tells(link: Link) -> bool:
    """Whether asking if the value is null, or a number, may tell the two apart."""
    if contains(link.mine, 0) != contains(link.theirs, 0):
        return True
    return narrowed(link.mine, link.theirs) is None


def _both(known: dict[int, Range], own: dict[int, Range]) -> dict[int, Range]:
    """What an alternative and its state know together.

    A symbol that an earlier join made, and that means something new now, may
    contradict: the state is right.
    """
    together = {**known, **own}
    for base in known.keys() & own.keys():
        together[base] = narrowed(known[base], own[base]) or own[base]
    return together


def _add(found: list[dict[int, Range]], new: dict[int, Range]) -> None:
    """Add an alternative; two that differ in whether one thing holds become one."""
    for place, known in enumerate(found):
        wider = _either(known, new)
        if wider is not None:
            del found[place]
            _add(found, wider)
            return
    found.append(new)


def _either(one: dict[int, Range], other: dict[int, Range]) -> dict[int, Range] | None:
    """Conditions that hold exactly when one or the other do; None without such."""
    if len(one) > len(other):
        one, other = other, one
    if len(one) < len(other):
        return one if one.items() <= other.items() else None
    differing = -1
    for base, known in one.items():
        if other.get(base) != known:
            if differing >= 0 or base not in other:
                return None
            differing = base
    if differing < 0:
        return one
    if hull(one[differing], other[differing]) != ANY:
        return None
    return {base: known for base, known in one.items() if base != differing}


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


def is_possible(s: State) -> bool:
    """Whether what is known leaves one of the state's alternatives."""
    return not s.alternatives or any(_may_hold(s, known) for known in s.alternatives)


def _may_hold(s: State, known: Known) -> bool:
    for base, allowed in known:
        now = s.ranges.get(base)
        if now is not None and narrowed(now, allowed) is None:
            return False
    return True
