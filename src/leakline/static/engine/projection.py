"""A callee's summary without what it does to globals that the caller never names.

Whoever does not name a global cannot lose what it holds, so logging buffers, caches
and the like need not tell a caller's states apart. That they changed is remembered.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from leakline.static.engine.alternatives import common_conditions
from leakline.static.engine.joining import join_equal
from leakline.static.engine.ranges import Range
from leakline.static.engine.summary import (
    Disjunct,
    Label,
    Name,
    NamedValue,
    Summary,
)
from leakline.static.engine.values import STREAMS

_FEW = 2


def project(summary: Summary, own: frozenset[str]) -> Summary:
    """The summary as a function sees it that names these globals only.

    A callee that always does the same, such as set a global, is seen whole.
    """
    if len(summary.disjuncts) <= _FEW:
        return summary
    named = {name for d in summary.disjuncts for name in _globals(_names(d))}
    foreign = frozenset(named - own - STREAMS)  # everybody knows the streams
    if not foreign:
        return summary
    projected = [_without(d, foreign) for d in summary.disjuncts]
    return replace(summary, disjuncts=tuple(join_equal(projected)))


def _names(d: Disjunct) -> Any:  # noqa: ANN401  # names nest
    return (d.alternatives, d.frees, d.escapes, d.counted, d.writes, d.overwritten)


def _globals(part: Any) -> Iterator[str]:  # noqa: ANN401  # names nest
    """The ids of the globals that names, nested in tuples and records, mention."""
    if isinstance(part, tuple):
        if len(part) == 2 and part[0] == "global":  # noqa: PLR2004  # tag and id
            yield part[1]
            return
        for inner in part:
            yield from _globals(inner)
    elif hasattr(part, "__dataclass_fields__"):
        for field in part.__dataclass_fields__:
            yield from _globals(getattr(part, field))


def _without(d: Disjunct, foreign: frozenset[str]) -> Disjunct:
    def is_foreign(part: object) -> bool:
        return not foreign.isdisjoint(_globals(part))

    touched = set(d.touched)
    for changed in (*d.frees, *d.overwritten):
        touched |= foreign.intersection(_globals(changed))
    for write in d.writes:
        touched |= foreign.intersection(_globals(write.base))
    hidden = dict.fromkeys(w.value for w in d.writes if is_foreign(w.base))
    kept = _with_contents(d, d.kept | set(map(_heap_number, hidden)) - {-1})
    escapes = {v: None for v in d.escapes if not is_foreign(v)}
    escapes.update((v, None) for v in hidden if _is_caller_pointer(v, is_foreign))
    slim = replace(
        d,
        alternatives=tuple(
            dict.fromkeys(
                tuple(i for i in found if not is_foreign(i[0]) or _is_plain(i[0]))
                for found in d.alternatives
            )
        ),
        kept=kept,
        frees=tuple(item for item in d.frees if not is_foreign(item.value)),
        escapes=tuple(escapes),
        counted=tuple(item for item in d.counted if not is_foreign(item)),
        writes=tuple(
            replace(write, value=(("new", ("foreign", number)), 0))
            if is_foreign(write.value)
            else write
            for number, write in enumerate(d.writes)
            if not is_foreign(write.base)
        ),
        copied=frozenset(name for name in d.copied if not is_foreign(name)),
        overwritten=tuple(name for name in d.overwritten if not is_foreign(name)),
        result=(("new", "foreign"), 0) if is_foreign(d.result) else d.result,
        unknown=d.unknown + _known_of_result(d) if is_foreign(d.result) else d.unknown,
        touched=frozenset(touched),
    )
    return _renumbered(slim)


def _with_contents(d: Disjunct, kept: AbstractSet[int]) -> frozenset[int]:
    """Objects that are kept, and all that they lead to."""
    found = set(kept)
    before = -1
    while before != len(found):
        before = len(found)
        found |= {
            _heap_number(write.value)
            for write in d.writes
            if write.base[0] == "heap" and write.base[1] in found
        } - {-1}
    return frozenset(found)


def _known_of_result(d: Disjunct) -> tuple[tuple[Label, Range], ...]:
    """What the conditions say of a result whose name is left out."""
    if d.result is None or isinstance(d.result, int) or d.result[1] != 0:
        return ()
    name = d.result[0]
    wide = dict(common_conditions(d.alternatives)).get(name)
    return () if wide is None else (("foreign", wide),)


def _is_plain(part: Any) -> bool:  # noqa: ANN401  # names nest
    """Whether a condition is on what globals themselves hold, not what they lead to."""
    if not isinstance(part, tuple):
        return True
    if part[:1] == ("cell",) and part[1][0] == "global":
        return True
    if part[:1] == ("cell",) and next(_globals(part), None) is not None:
        return False
    return all(_is_plain(inner) for inner in part)


def _heap_number(value: NamedValue | None) -> int:
    """The number of the object that the value points to, -1 when it is none."""
    if value is None or isinstance(value, int) or value[0][0] != "heap":
        return -1
    number: int = value[0][1]
    return number


def _is_caller_pointer(value: NamedValue, is_foreign: Any) -> bool:  # noqa: ANN401
    return (
        not isinstance(value, int)
        and value[0][0] in ("arg", "cell")
        and not is_foreign(value)
    )


def _renumbered(d: Disjunct) -> Disjunct:
    """Leave out objects that nothing the caller can see leads to."""
    order = _reached_heap(d)
    if len(order) == len(d.allocations):
        return d
    numbers = {old: new for new, old in enumerate(order)}
    writes = tuple(
        replace(
            write,
            base=_renamed(write.base, numbers),
            value=_renamed(write.value, numbers),
        )
        for write in d.writes
        if write.base[0] != "heap" or write.base[1] in numbers
    )
    return replace(
        d,
        allocations=tuple(d.allocations[old] for old in order),
        kept=frozenset(numbers[old] for old in d.kept if old in numbers),
        writes=writes,
        result=_renamed(d.result, numbers),
        overwritten=tuple(name for name in d.overwritten if name[0] != "heap"),
    )


def _reached_heap(d: Disjunct) -> list[int]:
    found = {_heap_number(d.result), -1}
    before = 0
    while before != len(found):
        before = len(found)
        found |= {
            _heap_number(write.value)
            for write in d.writes
            if write.base[0] != "heap" or write.base[1] in found
        }
    return sorted(found - {-1})


def _renamed(part: Any, numbers: dict[int, int]) -> Any:  # noqa: ANN401  # names nest
    if not isinstance(part, tuple):
        return part
    if len(part) == 2 and part[0] == "heap":  # noqa: PLR2004  # tag and number
        return ("heap", numbers.get(part[1], part[1]))
    return tuple(_renamed(inner, numbers) for inner in part)


def root_global(name: Name) -> str | None:
    """The global that a name begins at, None when it begins elsewhere."""
    return next(_globals(name), None)
