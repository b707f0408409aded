"""Calls of library functions, by their models."""

from collections.abc import Iterable

from leakline.static.engine import copying, memory
from leakline.static.engine.constraints import assume, constrain, is_null
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record
from leakline.static.engine.handing import note_model
from leakline.static.engine.heap import follow, release, use
from leakline.static.engine.objects import (
    is_refused,
    limit,
    new_object,
    site_of,
    without_result,
)
from leakline.static.engine.ranges import NON_NULL, UNBOUNDED, Range
from leakline.static.engine.releases import note_partner
from leakline.static.engine.resizing import Resizing, resize
from leakline.static.engine.state import State
from leakline.static.engine.values import HEAP, STACK, Value
from leakline.static.instructions import Call, Invoke
from leakline.static.models.language import Model, Owned, Result, Success

# Far below what wraps around, far above what memory holds.
_MOST_BYTES = 1 << 50

_DONE: dict[Success, Range] = {
    Success.ZERO: (0, 0, None),
    Success.NON_NEGATIVE: (0, UNBOUNDED, None),
    Success.POSITIVE: (1, UNBOUNDED, None),
    Success.NON_ZERO: (-UNBOUNDED, UNBOUNDED, frozenset((0,))),
}
_FAILED: dict[Success, Range] = {
    Success.ZERO: (-UNBOUNDED, UNBOUNDED, frozenset((0,))),
    Success.NON_NEGATIVE: (-UNBOUNDED, -1, None),
    Success.POSITIVE: (-UNBOUNDED, 0, None),
    Success.NON_ZERO: (0, 0, None),
}


def apply_model(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> list[State]:
    """The states after a library call; none when it does not return."""
    if model.noreturn:
        return []
    note_model(ctx, s, row, values, model)
    _touch_arguments(ctx, s, model, values)
    if model.resizes:
        return resize(ctx, s, Resizing(model, model.resizes, row, values))
    if any(owned.argument >= 0 for owned in model.owned):
        return _out_objects(ctx, s, model, row, values)
    states = [s]
    for argument in model.grows:
        states = [
            after
            for state in states
            for after in _grow(ctx, state, model, row, values, argument)
        ]
    return [
        after for state in states for after in _result(ctx, state, model, row, values)
    ]


def _touch_arguments(ctx: Context, s: State, model: Model, values: list[Value]) -> None:
    freed = {item.argument for item in model.frees}
    for index, value in enumerate(values):
        if index not in freed:
            use(ctx, s, value)
    _write_memory(ctx, s, model, values)
    for value in _chosen(values, model.keeps):
        memory.escape(ctx, s, value)
    if model.calls:
        memory.change_globals(ctx, s)
    for item in model.frees:
        for value in _chosen(values, (item.argument,)):
            note_partner(ctx, value, item.family)
            release(ctx, s, value, item.family, detail=model.name)


def _write_memory(ctx: Context, s: State, model: Model, values: list[Value]) -> None:
    if model.copies is not None and max(model.copies) < len(values):
        target, source, length = _chosen(values, model.copies)
        copying.copy_bytes(ctx, s, target, source, length)
    for value in _chosen(values, model.writes):
        copying.scribble(ctx, s, value)
    if model.writes_from >= 0:
        for value in values[model.writes_from :]:
            copying.scribble(ctx, s, value)


def _chosen(values: list[Value], places: Iterable[int]) -> list[Value]:
    """The arguments at these places, as far as the call has them."""
    return [values[place] for place in places if place < len(values)]


def _may_fail(ctx: Context, owned: Owned) -> bool:
    return owned.may_be_null or ctx.options.allocation_may_fail


def _result(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> list[State]:
    if model.result is Result.HEAP:
        return _heap_result(ctx, s, model, row, values)
    if row.result < 0:
        return [s]
    if model.result_argument >= len(values):
        s.env[row.result] = ctx.terms.symbol("result", *site_of(row), s.epoch)
        return [s]
    match model.result:
        case Result.NUMBER:
            s.env[row.result] = model.number
        case Result.ARGUMENT:
            return _argument_result(ctx, s, model, row, values)
        case Result.INTO_ARGUMENT:
            return _interior_result(ctx, s, model, row, values)
        case _:
            _unknown_result(ctx, s, model, row, values)
    return [s]


def _heap_result(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> list[State]:
    owned = model.owned[0]
    if owned.unless_argument >= 0:
        given = values[owned.unless_argument]
        if is_null(ctx, s, given) is not True:
            if row.result >= 0:
                _unknown_result(ctx, s, model, row, values)
            return [s]
    if is_refused(values, owned.sizes):
        return [without_result(ctx, s, model, row)]
    states = []
    if _may_fail(ctx, owned) and row.result >= 0:
        states.append(without_result(ctx, s.copy(), model, row))
    value = new_object(ctx, s, model, row, values, owned)
    if row.result >= 0:
        s.env[row.result] = value
    return [s, *states]


def _unknown_result(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> None:
    if model.pure:
        versions = tuple(
            (s.versions.get(value[0], 0), _contents(s, value[0]))
            for value in values
            if not isinstance(value, int) and ctx.terms.kinds[value[0]] in _OWN
        )
        value = ctx.terms.symbol("pure", model.name, tuple(values), versions)
    else:
        value = ctx.terms.symbol("result", *site_of(row), s.epoch)
    s.env[row.result] = value
    if model.result is Result.NON_NULL:
        constrain(ctx, s, value, NON_NULL)
    if model.least is not None:
        limit(ctx, s, value, (model.least, UNBOUNDED, None))
    elif model.result is Result.SIZE:
        limit(ctx, s, value, (0, _MOST_BYTES, None))


# Only objects of this function are taken to change between two equal questions:
# strings that callers pass rarely do, even when unknown code sees them.
_OWN = (HEAP, STACK)


def _contents(s: State, base: int) -> int:
    """Tells different known contents of an object apart."""
    cells = s.memory.get(base)
    return hash(frozenset(cells.items())) if cells else 0


def _argument_result(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> list[State]:
    value = values[model.result_argument]
    states = []
    if model.or_null:
        states.append(without_result(ctx, s.copy(), model, row))
    s.env[row.result] = value
    return [s, *states]


def _interior_result(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> list[State]:
    """A pointer into the argument; only heap objects are worth following it for."""
    value = values[model.result_argument]
    if isinstance(value, int) or ctx.terms.kinds[value[0]] != HEAP:
        found = ctx.terms.symbol("pure", model.name, tuple(values), s.epoch)
        s.env[row.result] = found
        return [s] if model.or_null or constrain(ctx, s, found, NON_NULL) else []
    states = []
    if model.or_null:
        states.append(without_result(ctx, s.copy(), model, row))
    index = ctx.terms.symbol("into", *site_of(row), s.epoch)
    start = value[1] if isinstance(value[1], int) else value[1][0]
    s.env[row.result] = (value[0], (start, index, 1))
    return [s, *states]


def _out_objects(
    ctx: Context, s: State, model: Model, row: Call | Invoke, values: list[Value]
) -> list[State]:
    states = []
    result: Value = ctx.terms.symbol("result", *site_of(row), s.epoch)
    written = [owned.argument for owned in model.owned if owned.argument >= 0]
    for place in _chosen(values, written):
        follow(ctx, s, place)
    if any(_may_fail(ctx, owned) for owned in model.owned):
        failed = s.copy()
        if constrain(ctx, failed, result, _FAILED.get(model.success, (0, 0, None))):
            if row.result >= 0:
                failed.env[row.result] = result
            record(ctx, failed, Event("result", ctx.here, -1, (model.name, "failure")))
            states.append(failed)
    done = _DONE.get(model.success)
    if done is not None:
        constrain(ctx, s, result, done)
    for owned in model.owned:
        if 0 <= owned.argument < len(values):
            value = new_object(ctx, s, model, row, values, owned)
            memory.store(ctx, s, values[owned.argument], value, memory.POINTER_BYTES)
    if row.result >= 0:
        s.env[row.result] = result
    return [s, *states]


def _grow(
    ctx: Context,
    s: State,
    model: Model,
    row: Call | Invoke,
    values: list[Value],
    argument: int,
) -> list[State]:
    if argument >= len(values):
        return [s]
    place = values[argument]
    held = memory.peek(ctx, s, place)
    null = is_null(ctx, s, held)
    states = []
    if null is not False:
        fresh = s.copy() if null is None else s
        if assume(ctx, fresh, held, truth=False):
            owned = Owned(argument=argument, family="free")
            value = new_object(ctx, fresh, model, row, values, owned)
            memory.store(ctx, fresh, place, value, memory.POINTER_BYTES)
            states.append(fresh)
    if null is not True and assume(ctx, s, held, truth=True):
        states.append(s)
    return states
