"""Calls of `realloc` and its like.

Resizing keeps the object's identity, so that all who share it stay right. A size of
zero releases the object and gives null, as the C library's own function does.
"""

from dataclasses import dataclass, replace

from leakline.static.engine.constraints import assume, is_null
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record
from leakline.static.engine.heap import release
from leakline.static.engine.objects import (
    is_refused,
    limit,
    new_object,
    without_result,
)
from leakline.static.engine.ranges import UNBOUNDED, Range
from leakline.static.engine.state import State
from leakline.static.engine.summary import Conditions, Disjunct, NamedValue
from leakline.static.engine.values import SYMBOL, Value
from leakline.static.instructions import Call, Invoke
from leakline.static.models.language import Model, Owned, Resized

_ZERO: Range = (0, 0, None)
_NOT_ZERO: Range = (-UNBOUNDED, UNBOUNDED, frozenset((0,)))


@dataclass(frozen=True, slots=True)
class Resizing:
    """One call, with the values of all its arguments."""

    model: Model
    resized: Resized
    row: Call | Invoke
    values: list[Value]

    @property
    def value(self) -> Value:
        """What is resized."""
        return self.values[self.resized.argument]

    @property
    def sizes(self) -> list[Value]:
        """Numbers whose product is the new size in bytes."""
        return [self.values[at] for at in self.resized.sizes if at < len(self.values)]


def resize(ctx: Context, s: State, call: Resizing) -> list[State]:
    """The states after a call that resizes one of its arguments."""
    if is_refused(call.values, call.resized.sizes):
        return [without_result(ctx, s, call.model, call.row)]
    states = []
    null = is_null(ctx, s, call.value)
    if null is not False:
        fresh = s.copy() if null is None else s
        if assume(ctx, fresh, call.value, truth=False):
            states += _allocated(ctx, fresh, call)
    if null is not True and assume(ctx, s, call.value, truth=True):
        states += _emptied(ctx, s, call)
        if _is_more_than_nothing(ctx, s, call):
            states += _moved(ctx, s, call)
    return states


def _allocated(ctx: Context, s: State, call: Resizing) -> list[State]:
    """There was nothing to resize."""
    states = _failures(ctx, s, call)
    owned = Owned(argument=-1, family=call.resized.family, sizes=call.resized.sizes)
    new = new_object(ctx, s, call.model, call.row, call.values, owned)
    if call.row.result >= 0:
        s.env[call.row.result] = new
    return [s, *states]


def _emptied(ctx: Context, s: State, call: Resizing) -> list[State]:
    """One state for each size that is meant to be zero: the object is released."""
    states = []
    for size in call.sizes:
        if not (is_null(ctx, s, size) or _hands_on(ctx, call, size)):
            continue
        emptied = s.copy()
        if limit(ctx, emptied, size, _ZERO):
            family, name = call.resized.family, call.model.name
            release(ctx, emptied, call.value, family, detail=name)
            states.append(without_result(ctx, emptied, call.model, call.row))
    return states


def _hands_on(ctx: Context, call: Resizing, size: Value) -> bool:
    """Whether callers choose both the size and what is resized."""
    if isinstance(call.value, int) or not _is_argument(ctx, size):
        return False
    return ctx.terms.kinds[call.value[0]] == SYMBOL


def _is_argument(ctx: Context, value: Value) -> bool:
    if isinstance(value, int) or value[1] != 0:
        return False
    return bool(ctx.terms.keys[value[0]][0] == "arg")


def meant(
    ctx: Context, s: State, disjuncts: tuple[Disjunct, ...], values: list[Value]
) -> tuple[Disjunct, ...]:
    """The behaviours of a function, without that for a size that happens to be zero.

    Programs rarely expect that what they resize is released: only when they pass zero.
    """
    resized = {d.result for d in disjuncts if _names_argument(d.result)}
    if not resized:
        return disjuncts
    found = []
    for d in disjuncts:
        if d.result == 0 and any(item.value in resized for item in d.frees):
            kept = [one for one in d.alternatives if _is_meant(ctx, s, one, values)]
            if kept:
                found.append(replace(d, alternatives=tuple(kept)))
        else:
            found.append(d)
    return tuple(found)


def _names_argument(value: NamedValue | None) -> bool:
    return isinstance(value, tuple) and value[0][0] == "arg" and value[1] == 0


def _is_meant(
    ctx: Context, s: State, conditions: Conditions, values: list[Value]
) -> bool:
    """Whether all arguments that must be zero are, or are for callers to choose."""
    zeros = [
        values[name[1]]
        for name, allowed in conditions
        if name[0] == "arg" and allowed == _ZERO and name[1] < len(values)
    ]
    return all(is_null(ctx, s, zero) or _is_argument(ctx, zero) for zero in zeros)


def _is_more_than_nothing(ctx: Context, s: State, call: Resizing) -> bool:
    return all(
        is_null(ctx, s, size) is False or limit(ctx, s, size, _NOT_ZERO)
        for size in call.sizes
    )


def _moved(ctx: Context, s: State, call: Resizing) -> list[State]:
    states = _failures(ctx, s, call)
    if not isinstance(call.value, int):
        record(ctx, s, Event("resized", ctx.here, call.value[0], call.model.name))
    if call.row.result >= 0:
        s.env[call.row.result] = call.value
    return [s, *states]


def _failures(ctx: Context, s: State, call: Resizing) -> list[State]:
    """The call fails, and leaves the object as it was."""
    if not ctx.options.allocation_may_fail or call.row.result < 0:
        return []
    return [without_result(ctx, s.copy(), call.model, call.row)]
