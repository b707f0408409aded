"""Calls of `realloc` and its like.

Resizing keeps the object's identity, so that all who share it stay right. A size of
zero releases the object and gives null, as the C library's own function does.
"""

from dataclasses import dataclass

from leakline.static.engine import memory
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
    """One state for each size that may be zero."""
    states = []
    for size in call.sizes:
        zero = is_null(ctx, s, size)
        if zero is False:
            continue
        emptied = s.copy()
        if limit(ctx, emptied, size, _ZERO):
            _give_up(ctx, emptied, call, is_meant=zero or _hands_on(ctx, call, size))
            states.append(without_result(ctx, emptied, call.model, call.row))
    return states


def _hands_on(ctx: Context, call: Resizing, size: Value) -> bool:
    """Whether callers choose both the size and what is resized."""
    if isinstance(size, int) or isinstance(call.value, int):
        return False
    is_argument = ctx.terms.keys[size[0]][0] == "arg" and size[1] == 0
    return is_argument and ctx.terms.kinds[call.value[0]] == SYMBOL


def _give_up(ctx: Context, s: State, call: Resizing, *, is_meant: bool) -> None:
    """Release the object, or, where a size only happens to be zero, say no more of it.

    Programs rarely expect that: they would release it a second time.
    """
    if is_meant:
        family, name = call.resized.family, call.model.name
        release(ctx, s, call.value, family, detail=name)
    else:
        memory.escape(ctx, s, call.value)


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
