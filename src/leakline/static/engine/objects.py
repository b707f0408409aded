"""New objects of library functions: their sizes, and calls that give none."""

from leakline.static.engine.constraints import constrain
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record
from leakline.static.engine.heap import allocate
from leakline.static.engine.places import place_of
from leakline.static.engine.ranges import Range
from leakline.static.engine.state import State
from leakline.static.engine.summary import Allocation
from leakline.static.engine.values import Value
from leakline.static.instructions import Call, Invoke
from leakline.static.models.language import Model, Owned

_UNSIGNED = (1 << 64) - 1
# No object is larger than all that a process can address.
_LARGEST_BYTES = 1 << 56


def site_of(row: Call | Invoke) -> tuple[object, ...]:
    """Tells the calls of a function apart."""
    return (row.location, row.result, row.callee)


def new_object(
    ctx: Context,
    s: State,
    model: Model,
    row: Call | Invoke,
    values: list[Value],
    owned: Owned,
) -> Value:
    """The address of what a call allocates."""
    allocation = Allocation(
        places=(place_of(ctx, row.location),),
        allocator=_display(ctx, model.name),
        family=owned.family,
        size_bytes=_bytes_asked(values, owned.sizes) or 0,
        zeroed=owned.zeroed,
    )
    return allocate(ctx, s, (*site_of(row), owned.argument), allocation)


def _display(ctx: Context, name: str) -> str:
    """The allocator's name for people."""
    declaration = ctx.unit.declarations.get(name)
    return name if declaration is None else declaration.display.partition("(")[0]


def is_refused(values: list[Value], sizes: tuple[int, ...]) -> bool:
    """Whether a call asks for more than there can ever be."""
    asked = _bytes_asked(values, sizes)
    return asked is not None and asked > _LARGEST_BYTES


def _bytes_asked(values: list[Value], sizes: tuple[int, ...]) -> int | None:
    """The product of the arguments at these places; None when it is not known."""
    product = 1
    for place in sizes:
        value = values[place] if place < len(values) else None
        if not isinstance(value, int):
            return None
        product *= value & _UNSIGNED
    return product if sizes else None


def without_result(ctx: Context, s: State, model: Model, row: Call | Invoke) -> State:
    """The state in which a call returned null."""
    if row.result >= 0:
        s.env[row.result] = 0
    record(ctx, s, Event("result", ctx.here, -1, (model.name, 0)))
    return s


def limit(ctx: Context, s: State, value: Value, allowed: Range) -> bool:
    """Learn what a call promises or needs; False when that is impossible.

    In a replay the solver must hear of it too.
    """
    if ctx.replaying:
        s.path = (s.path, (value, allowed))
    return constrain(ctx, s, value, allowed)
