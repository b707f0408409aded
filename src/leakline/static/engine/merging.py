"""Joining states that agree on what matters: the lives and holders of objects."""

from collections.abc import Callable, Iterable
from typing import Any

from leakline.static.engine import memory
from leakline.static.engine.constraints import value_range
from leakline.static.engine.context import Context
from leakline.static.engine.correlation import Link, joined_alternatives
from leakline.static.engine.heap import collect
from leakline.static.engine.ranges import ANY, Range, hull
from leakline.static.engine.state import ALLOCATED, ESCAPED, FREED, Cells, State
from leakline.static.engine.values import HEAP, SYMBOL, Offset, Value

# With more states than this, what was done to callers' objects is no longer a reason
# to keep them apart.
_MANY = 8


def merge(ctx: Context, states: list[State], place: object) -> list[State]:
    """Join states with equal properties; at most the allowed number remains."""
    freed = _freed_symbols(ctx, states)
    merged = _group(ctx, states, place, lambda s: properties(ctx, s, freed))
    if len(merged) > _MANY and freed:
        merged = _join_releases(ctx, merged, place)
    if len(merged) > _MANY:
        merged = _join_structures(ctx, merged, place)
    if len(merged) > ctx.options.most_states:
        merged = _overflow(ctx, merged, place)
    return merged


def _group(
    ctx: Context, states: list[State], place: object, key_of: Callable[[State], Any]
) -> list[State]:
    kept: dict[Any, State] = {}
    for state in states:
        key = key_of(state)
        other = kept.get(key)
        if other is None:
            kept[key] = state
        else:
            join(ctx, other, state, place)
    return list(kept.values())


def _join_releases(ctx: Context, states: list[State], place: object) -> list[State]:
    """Join states that differ in which objects of callers they freed.

    Whether those were freed is then unknown, as after a loop over their elements.
    """
    groups: dict[Any, list[State]] = {}
    for state in states:
        groups.setdefault(_own_properties(ctx, state), []).append(state)
    for group in groups.values():
        _agree_on_releases(ctx, group)
        for state in group[1:]:
            join(ctx, group[0], state, place)
    return [group[0] for group in groups.values()]


def _agree_on_releases(ctx: Context, states: list[State]) -> None:
    for base in _freed_symbols(ctx, states):
        if any(state.objects.get(base) != FREED for state in states):
            for state in states:
                state.writable_objects()[base] = ESCAPED


def _join_structures(ctx: Context, states: list[State], place: object) -> list[State]:
    """Join states whose data structures begin alike, whatever these consist of.

    Objects that only memory further away points to are then no longer followed.
    """
    for state in states:
        direct = _directly_held(ctx, state)
        for base, life in list(state.objects.items()):
            if life == ALLOCATED and base not in direct:
                state.writable_objects()[base] = ESCAPED
    return _group(ctx, states, place, lambda s: properties(ctx, s, frozenset()))


def _directly_held(ctx: Context, s: State) -> set[int]:
    """Objects that registers, variables, arguments and globals themselves point to."""
    found = {value[0] for value in s.env.values() if not isinstance(value, int)}
    found.update(s.variables.values())
    found.update(
        target
        for (base, offset), target in s.holders.items()
        if isinstance(offset, int) and _is_near(ctx, base)
    )
    return found


def _is_near(ctx: Context, base: int) -> bool:
    """Whether an object is a variable, or what an argument points to."""
    kind = ctx.terms.kinds[base]
    if kind == SYMBOL:
        return bool(ctx.terms.keys[base][0] == "arg")
    return kind != HEAP


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


def _freed_symbols(ctx: Context, states: list[State]) -> frozenset[int]:
    """Pointers of callers that some of the states have freed."""
    kinds = ctx.terms.kinds
    return frozenset(
        base
        for state in states
        for base, life in state.objects.items()
        if life == FREED and kinds[base] == SYMBOL
    )


def properties(ctx: Context, s: State, freed: frozenset[int]) -> Any:  # noqa: ANN401  # any hashable key
    """What states must agree on to be joined.

    A pointer that some of them have freed counts as freed where it is null, because
    freeing null does nothing: both ways through `if (p) free(p);` are one behaviour.
    """
    nulls = [(base, FREED) for base in freed if is_null_base(s, base)]
    kinds = ctx.terms.kinds
    keys = ctx.terms.keys
    lives = frozenset(
        item
        for item in (*s.objects.items(), *nulls)
        if kinds[item[0]] == SYMBOL
        and (item[1] != ESCAPED or keys[item[0]][0] == "arg")
    )
    return lives, _own_properties(ctx, s)


def _own_properties(ctx: Context, s: State) -> Any:  # noqa: ANN401  # any hashable key
    """What states must agree on that concerns the function's own objects."""
    rounds = tuple((loop.head, loop.number) for loop in s.loops)
    results = tuple(
        (register, s.env[register])
        for register in sorted(ctx.flow.results)
        if isinstance(s.env.get(register), int)
    )
    if not s.objects:
        return rounds, results
    kinds = ctx.terms.kinds
    lives = frozenset(
        item
        for item in s.objects.items()
        if item[1] != ESCAPED and kinds[item[0]] != SYMBOL
    )
    if not lives:
        return rounds, results
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
    links = _join_registers(ctx, s, other, place, ranges)
    s.alternatives = joined_alternatives(ctx, s, other, ranges, links)
    _join_memory(ctx, s, other, place, ranges)
    _join_objects(s, other)
    s.replace_ranges(ranges)
    s.pointed &= other.pointed
    s.zeroed &= other.zeroed
    if s.thrown != other.thrown:
        s.thrown = None
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
    if symbol[0] in s.pointed:  # it means something new now
        s.pointed -= {symbol[0]}
    if pointer:
        for value in ctx.add_parts(symbol[0], (mine, their)):
            memory.escape(ctx, s, value)
    return symbol


def _join_registers(
    ctx: Context, s: State, other: State, place: object, ranges: dict[int, Range]
) -> list[Link]:
    theirs = other.env
    links: list[Link] = []
    for register, mine in list(s.env.items()):
        their = theirs.get(register)
        if their is mine or their == mine:
            continue
        if their is None:
            their = ctx.terms.symbol("undef", register)
        pointer = register not in ctx.flow.numbers
        name = (place, register)
        both = _joined(ctx, s, other, mine, their, name, ranges, pointer=pointer)
        s.env[register] = both
        if not isinstance(both, int):
            known = value_range(ctx, s, mine), value_range(ctx, other, their)
            links.append(Link(both[0], *known))
    return links


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
    # Joining a cell costs about as much as an instruction.
    ctx.walked += len(changes)
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
