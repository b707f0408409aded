"""What calls do with a block that they are given: the calls of a replayed path."""

from typing import NamedTuple

from leakline.model.finding import Fate
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record
from leakline.static.engine.state import ALLOCATED, State
from leakline.static.engine.summary import Disjunct, NamedValue, Summary
from leakline.static.engine.values import HEAP, Value
from leakline.static.instructions import Call, Invoke
from leakline.static.models.language import Model, Result, source_name


class Given(NamedTuple):
    """A block was an argument of a call.

    Attributes:
        callee: Name of the called function for people.
        fate: What became of the block on this path.
        otherwise: What becomes of it on other paths of the callee; None when no more.
    """

    callee: str
    fate: Fate
    otherwise: Fate | None


def note_summary(
    ctx: Context,
    s: State,
    row: Call | Invoke,
    values: list[Value],
    summary: Summary,
    behaviour: Disjunct,
) -> None:
    """Note, in a replay, which blocks a function of the program was given."""
    if not ctx.replaying:
        return
    for index, base in _blocks(ctx, s, values):
        fate = _fate_in(behaviour, index)
        others = {_fate_in(d, index) for d in summary.disjuncts} - {fate}
        otherwise = next((each for each in _TELLING if each in others), None)
        given = Given(summary.display, fate, otherwise)
        record(ctx, s, Event("given", row.location, base, given))


# What callers need to hear first of the fates that a block may meet elsewhere.
_TELLING = (Fate.FREES, Fate.KEEPS, Fate.RETURNS)


def note_model(
    ctx: Context, s: State, row: Call | Invoke, values: list[Value], model: Model
) -> None:
    """Note, in a replay, which blocks a library function was given."""
    if not ctx.replaying:
        return
    for index, base in _blocks(ctx, s, values):
        given = Given(source_name(model.name), _fate_by(model, index), None)
        record(ctx, s, Event("given", row.location, base, given))


def _blocks(ctx: Context, s: State, values: list[Value]) -> list[tuple[int, int]]:
    """Places of arguments that are blocks still followed, with their bases."""
    return [
        (index, value[0])
        for index, value in enumerate(values)
        if not isinstance(value, int)
        and ctx.terms.kinds[value[0]] == HEAP
        and s.objects.get(value[0]) == ALLOCATED
    ]


def _fate_in(d: Disjunct, index: int) -> Fate:
    if any(_is_argument(item.value, index) for item in d.frees):
        return Fate.FREES
    kept = (*d.escapes, *(write.value for write in d.writes))
    if any(_is_argument(value, index) for value in kept):
        return Fate.KEEPS
    if _is_argument(d.result, index):
        return Fate.RETURNS
    return Fate.READS


def _is_argument(value: NamedValue | None, index: int) -> bool:
    return isinstance(value, tuple) and value[0] == ("arg", index)


def _fate_by(model: Model, index: int) -> Fate:
    taken = [item.argument for item in model.frees]
    if model.resizes:
        taken.append(model.resizes.argument)
    if index in taken:
        return Fate.FREES
    if index in model.keeps:
        return Fate.KEEPS
    returned = model.result in (Result.ARGUMENT, Result.INTO_ARGUMENT)
    return Fate.RETURNS if returned and index == model.result_argument else Fate.READS
