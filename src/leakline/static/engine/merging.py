"""Joining states that agree on what matters: the lives and holders of objects."""

from collections.abc import Iterable
from typing import Any

from leakline.static.engine import memory
from leakline.static.engine.constraints import value_range
from leakline.static.engine.context import Context
from leakline.static.engine.heap import collect
from leakline.static.engine.ranges import ANY, Range, hull
from leakline.static.engine.state import ALLOCATED, ESCAPED, Cells, State
from leakline.static.engine.values import SYMBOL, Offset, Value


def merge(ctx: Context, states: list[State], place: object) -> list[State]:
    """Join states with equal properties; at most the allowed number remains."""
    kept: dict[Any, State] = {}
    for state in states:
        key = properties(ctx, state)
        other = kept.get(key)
        if other is None:
            kept[key] = state
        else:
            join(ctx, other, state, place)
    merged = list(kept.values())
    if len(merged) > ctx.options.most_states:
        merged = _overflow(ctx, merged, place)
    return merged


def _overflow(ctx: Context, states: list[State], place: object) -> list[State]:
    """Too many to tell apart: the rest become one in which nothing is tracked."""
    ctx.taint("too many states")
    kept = states[: ctx.options.most_states - 1]
    rest = states[ctx.options.most_states - 1 :]
    for state in rest:
        for base, life in list(state.objects.items()):
            if life == ALLOCATED:
                state.writable_objects()[base] = ESCAPED
    for state in rest[1:]:
        join(ctx, rest[0], state, place)
    return [*kept, rest[0]]


def properties(ctx: Context, s: State) -> Any:  # noqa: ANN401  # any hashable key
    """What states must agree on to be joined."""
    rounds = tuple((loop.head, loop.number) for loop in s.loops)
    results = tuple(
        (register, s.env[register])
        for register in sorted(ctx.flow.results)
        if isinstance(s.env.get(register), int)
    )
    if not s.objects:
        return rounds, results
    kinds = ctx.terms.kinds
    keys = ctx.terms.keys
    lives = frozenset(
        item
        for item in s.objects.items()
        if item[1] != ESCAPED
        or (kinds[item[0]] == SYMBOL and keys[item[0]][0] == "arg")
    )
    return rounds, results, lives, _holders(s)


def _holders(s: State) -> frozenset[Any]:
    """Who holds the tracked objects."""
    tracked = {base for base, life in s.objects.items() if life == ALLOCATED}
    if not tracked:
        return frozenset()
    found: list[Any] = [
        (register, value)
        for register, value in s.env.items()
        if not isinstance(value, int) and value[0] in tracked
    ]
    found.extend(item for item in s.holders.items() if item[1] in tracked)
    found.extend(
        ("variable", *item) for item in s.variables.items() if item[1] in tracked
    )
    return frozenset(found)


def collect_all(ctx: Context, states: Iterable[State]) -> None:
    """Report and forget lost objects before states are compared."""
    for state in states:
        if state.objects:
            collect(ctx, state)


def join(ctx: Context, s: State, other: State, place: object) -> None:
    """Change the first state so that it covers both."""
    ranges = _joined_ranges(s, other)
    _join_registers(ctx, s, other, place, ranges)
    _join_memory(ctx, s, other, place, ranges)
    _join_objects(s, other)
    s.replace_ranges(ranges)
    s.zeroed &= other.zeroed
    s.touched |= other.touched
    s.copied |= other.copied
    if other.world != s.world:
        s.world = 1 + ctx.terms.symbol("world", place, s.epoch)[0]


def _join_objects(s: State, other: State) -> None:
    """Lives agree but for escaped objects, which may be known to one state only."""
    if s.objects is other.objects:
        return
    for base, life in other.objects.items():
        mine = s.objects.get(base)
        if mine is None or (mine != life and life == ESCAPED):
            s.writable_objects()[base] = life
    if s.variables is not other.variables:
        for variable in [
            v for v in s.variables if other.variables.get(v) != s.variables[v]
        ]:
            del s.writable_variables()[variable]


def _joined_ranges(s: State, other: State) -> dict[int, Range]:
    if s.ranges is other.ranges:
        return s.ranges.copy()
    joined = {}
    theirs = other.ranges
    for base, known in s.ranges.items():
        their = theirs.get(base)
        if their is None:
            continue
        if their is known or their == known:
            joined[base] = known
            continue
        wide = hull(known, their)
        if wide != ANY:
            joined[base] = wide
    return joined


def _joined(
    ctx: Context,
    s: State,
    other: State,
    mine: Value,
    their: Value,
    name: tuple[object, ...],
    ranges: dict[int, Range],
    *,
    pointer: bool,
) -> Value:
    """One symbol for two values."""
    symbol = ctx.terms.symbol("join", *name, s.epoch)
    wide = hull(value_range(ctx, s, mine), value_range(ctx, other, their))
    if wide != ANY:
        ranges[symbol[0]] = wide
    else:
        ranges.pop(symbol[0], None)
    if pointer:
        for value in ctx.add_parts(symbol[0], (mine, their)):
            memory.escape(ctx, s, value)
    return symbol


def _join_registers(
    ctx: Context, s: State, other: State, place: object, ranges: dict[int, Range]
) -> None:
    theirs = other.env
    for register, mine in list(s.env.items()):
        their = theirs.get(register)
        if their is mine or their == mine:
            continue
        if their is None:
            their = ctx.terms.symbol("undef", register)
        pointer = register not in ctx.flow.numbers
        name = (place, register)
        s.env[register] = _joined(
            ctx, s, other, mine, their, name, ranges, pointer=pointer
        )


def _join_memory(
    ctx: Context, s: State, other: State, place: object, ranges: dict[int, Range]
) -> None:
    if s.memory is not other.memory:
        for base in dict.fromkeys((*s.memory, *other.memory)):
            mine, theirs = s.memory.get(base), other.memory.get(base)
            if mine is not theirs:
                _join_cells(ctx, s, other, base, place, ranges)
    if s.versions != other.versions:
        s.writable_memory()
        for base in {*s.versions, *other.versions}:
            if s.versions.get(base) != other.versions.get(base):
                key = ("version", place, s.epoch, base)
                s.versions[base] = 1 + ctx.terms.symbol(*key)[0]


def _join_cells(
    ctx: Context,
    s: State,
    other: State,
    base: int,
    place: object,
    ranges: dict[int, Range],
) -> None:
    mine: Cells = s.memory.get(base, {})
    theirs: Cells = other.memory.get(base, {})
    changes: list[tuple[Offset, Value, int]] = []
    for offset in dict.fromkeys((*mine, *theirs)):
        my_cell, their_cell = mine.get(offset), theirs.get(offset)
        if my_cell == their_cell:
            continue
        size = (my_cell or their_cell or (0, 8))[1]
        left = _held(ctx, s, base, offset, my_cell)
        right = _held(ctx, other, base, offset, their_cell)
        if my_cell is None and is_null_base(s, base):
            left = right
        elif their_cell is None and is_null_base(other, base):
            right = left
        if left == right:
            value = left
        else:
            name = (place, base, offset)
            pointer = size == memory.POINTER_BYTES
            if pointer:
                memory.unsure_of_initial(ctx, s, base, offset, (left, right))
            value = _joined(ctx, s, other, left, right, name, ranges, pointer=pointer)
        changes.append((offset, value, size))
    for offset, value, size in changes:
        memory.set_cell(ctx, s, base, offset, value, size)


def is_null_base(s: State, base: int) -> bool:
    """Where a pointer is null there is no memory that could hold something else."""
    known = s.ranges.get(base)
    return known is not None and known[0] == known[1] == 0


def _held(
    ctx: Context, s: State, base: int, offset: Offset, cell: tuple[Value, int] | None
) -> Value:
    return cell[0] if cell is not None else memory.untouched(ctx, s, base, offset)
