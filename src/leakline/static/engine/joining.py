"""Joining disjuncts of a summary that callers need not tell apart."""

from collections.abc import Iterable
from typing import Any

from leakline.static.engine.alternatives import common_conditions
from leakline.static.engine.memory import POINTER_BYTES
from leakline.static.engine.ranges import ANY, Range, hull
from leakline.static.engine.summary import (
    Conditions,
    Disjunct,
    Label,
    Name,
    NamedValue,
    Write,
)

_MOST_ALTERNATIVES = 8


def join_equal(disjuncts: Iterable[Disjunct]) -> list[Disjunct]:
    """One disjunct for each behaviour."""
    joined: dict[Any, Disjunct] = {}
    for disjunct in disjuncts:
        key = _behaviour(disjunct)
        other = joined.get(key)
        joined[key] = disjunct if other is None else _join(other, disjunct)
    return list(joined.values())


def _behaviour(d: Disjunct) -> Any:  # noqa: ANN401  # any hashable key
    """What disjuncts must agree on to be joined."""
    heap_writes = frozenset(
        (item.base, item.offset, item.value)
        for item in d.writes
        if not isinstance(item.value, int) and item.value[0][0] in ("heap", "arg")
    )
    frees = frozenset((item.value, item.family) for item in d.frees)
    return (
        d.allocations,
        d.kept,
        frees,
        frozenset(value for value in d.escapes if _is_argument(value)),
        heap_writes,
        _reports(d),
        _result_class(d),
        d.throws,
    )


def _reports(d: Disjunct) -> frozenset[Any]:
    """Numbers written through arguments, by sign: often they say what happened."""
    return frozenset(
        (w.base, (w.value > 0) - (w.value < 0))
        for w in d.writes
        if isinstance(w.value, int) and w.offset == 0 and w.base[0] == "arg"
    )


def _is_argument(value: NamedValue) -> bool:
    return not isinstance(value, int) and value[0][0] == "arg"


def _result_class(d: Disjunct) -> Any:  # noqa: ANN401  # any hashable key
    result = d.result
    if result is None or isinstance(result, int):
        return result
    if result[0][0] != "new":
        return result
    known = dict(d.unknown).get(result[0][1])
    if known is None:
        return "any"
    return "range", known[0] > 0 or bool(known[2] and 0 in known[2]), known[1] < 0


def _join(left: Disjunct, right: Disjunct) -> Disjunct:
    numbers = dict(right.unknown)
    unknown = tuple(
        (number, hull(known, numbers[number]))
        for number, known in left.unknown
        if number in numbers
    )
    writes, overwritten = _join_writes(left, right)
    unknown += _joined_ranges(left, right, writes)
    return Disjunct(
        alternatives=_either(left.alternatives + right.alternatives),
        allocations=left.allocations,
        kept=left.kept,
        frees=left.frees,
        escapes=tuple(
            dict.fromkeys(
                left.escapes + right.escapes + _perhaps_stored(left, right, writes)
            )
        ),
        writes=writes,
        overwritten=overwritten,
        unknown=unknown,
        result=left.result,
        throws=left.throws,
        changes_world=left.changes_world or right.changes_world,
        copied=left.copied | right.copied,
        touched=left.touched | right.touched,
        pointed=left.pointed & right.pointed,
        joined=True,
    )


def _either(alternatives: tuple[Conditions, ...]) -> tuple[Conditions, ...]:
    """At most so many alternatives; those too many become one that covers them."""
    kept = tuple(dict.fromkeys(alternatives))
    if () in kept:
        return ((),)
    if len(kept) <= _MOST_ALTERNATIVES:
        return kept
    rest = common_conditions(kept[_MOST_ALTERNATIVES - 1 :])
    return ((),) if not rest else (*kept[: _MOST_ALTERNATIVES - 1], rest)


def _join_writes(
    left: Disjunct, right: Disjunct
) -> tuple[tuple[Write, ...], tuple[Name, ...]]:
    """A place that only one of them writes, or writes otherwise, becomes unknown."""
    theirs = {(w.base, w.offset): w for w in right.writes}
    mine = {(w.base, w.offset): w for w in left.writes}
    writes = []
    for place in dict.fromkeys((*mine, *theirs)):
        first, second = mine.get(place), theirs.get(place)
        if first is None and _is_null(left, place[0]):
            first = second
        elif second is None and _is_null(right, place[0]):
            second = first
        if first is not None and first == second:
            writes.append(first if first.if_there else second)
        else:
            known = first or second
            size = 8 if known is None else known.size_bytes
            unknown: NamedValue = (("new", ("write", *place)), 0)
            writes.append(Write(place[0], place[1], unknown, size))
    overwritten = tuple(dict.fromkeys(left.overwritten + right.overwritten))
    return tuple(writes), overwritten


def _perhaps_stored(
    left: Disjunct, right: Disjunct, writes: tuple[Write, ...]
) -> tuple[NamedValue, ...]:
    """Callers' pointers that only one of them stores: they may be kept there."""
    known = {(write.base, write.offset, write.value) for write in writes}
    return tuple(
        write.value
        for write in (*left.writes, *right.writes)
        if (write.base, write.offset, write.value) not in known
        and write.size_bytes == POINTER_BYTES
        and not isinstance(write.value, int)
        and write.value[0][0] in ("arg", "cell")
    )


def _joined_ranges(
    left: Disjunct, right: Disjunct, writes: tuple[Write, ...]
) -> tuple[tuple[Label, Range], ...]:
    """What is known of the values that two different writes became."""
    found = []
    mine = {(w.base, w.offset): w.value for w in left.writes}
    theirs = {(w.base, w.offset): w.value for w in right.writes}
    for write in writes:
        place = (write.base, write.offset)
        if (
            place in mine
            and place in theirs
            and write.value
            not in (
                mine[place],
                theirs[place],
            )
        ):
            wide = hull(_range(left, mine[place]), _range(right, theirs[place]))
            if wide != ANY:
                found.append((("write", *place), wide))
    return tuple(found)


def _range(d: Disjunct, value: NamedValue) -> Range:
    if isinstance(value, int):
        return value, value, None
    known = dict(d.unknown).get(value[0][1]) if value[0][0] == "new" else None
    return known if known is not None and value[1] == 0 else ANY


def _is_null(d: Disjunct, name: Name) -> bool:
    return all((name, (0, 0, None)) in found for found in d.alternatives)
