"""Memory of a state: loads, stores, what is reachable, and what unknown code changes."""

from collections.abc import Iterable

from leakline.static.engine.context import Context
from leakline.static.engine.state import ALLOCATED, ESCAPED, State
from leakline.static.engine.values import (
    CODE,
    GLOBAL,
    HEAP,
    STACK,
    STREAMS,
    SYMBOL,
    Offset,
    Value,
)

POINTER_BYTES = 8


def load(ctx: Context, s: State, pointer: Value, size_bytes: int) -> Value:
    """What memory holds there."""
    if isinstance(pointer, int):
        return ctx.terms.symbol("absolute", pointer, s.epoch)
    base, offset = pointer
    cells = s.memory.get(base)
    if cells is not None:
        cell = cells.get(offset)
        if cell is not None:
            if cell[1] == size_bytes:
                return cell[0]
            return _part(ctx, s, pointer, cell, size_bytes)
        if not isinstance(offset, int) or _indexed(cells):
            escape_held(ctx, s, base)
    return untouched(ctx, s, base, offset)


def _indexed(cells: dict[Offset, tuple[Value, int]]) -> bool:
    return any(not isinstance(offset, int) for offset in cells)


def _part(
    ctx: Context,
    s: State,
    pointer: tuple[int, Offset],
    cell: tuple[Value, int],
    size_bytes: int,
) -> Value:
    """Read with another width than was written: only small numbers stay known."""
    value = cell[0]
    if isinstance(value, int) and size_bytes < cell[1]:
        bits = 8 * size_bytes
        low = value & ((1 << bits) - 1)
        return low - (1 << bits) if low >> (bits - 1) else low
    escape(ctx, s, value)
    return ctx.terms.symbol("part", value, pointer[1], size_bytes)


def untouched(ctx: Context, s: State, base: int, offset: Offset) -> Value:
    """What memory holds where this walk has not written."""
    version = s.versions.get(base, 0)
    if base in s.zeroed:
        return 0
    kind = ctx.terms.kinds[base]
    if kind == GLOBAL:
        if isinstance(offset, int):
            constant = ctx.initial(base, offset)
            if constant is not None:
                return constant
        version = version or (s.world if _is_of_program(ctx, base) else 0)
    elif kind in (HEAP, STACK):
        return ctx.terms.symbol("unset", base, offset, version)
    return ctx.terms.symbol("cell", base, offset, version)


def _is_of_program(ctx: Context, base: int) -> bool:
    """Whether a global is one that unknown code of the program may change.

    The library's own variables, such as stdout, are taken to stay as they are. What
    only callees name is known to be one of these for streams alone.
    """
    if base in ctx.globals:
        return True
    name = ctx.terms.keys[base][1]
    return name not in ctx.own and name not in STREAMS


def store(
    ctx: Context, s: State, pointer: Value, value: Value, size_bytes: int
) -> None:
    """Write a value to memory."""
    if isinstance(pointer, int):
        escape(ctx, s, value)
        return
    base, offset = pointer
    if isinstance(offset, int):
        _forget_overlapped(ctx, s, base, offset, size_bytes)
        if offset == 0 and not isinstance(value, int):
            _unlink(ctx, s, base, value[0])
    else:
        _forget_numbers(s, base)
    set_cell(ctx, s, base, offset, value, size_bytes)


def set_cell(
    ctx: Context, s: State, base: int, offset: Offset, value: Value, size_bytes: int
) -> None:
    """Put a value into one cell and keep the table of holders right."""
    s.writable_cells(base)[offset] = (value, size_bytes)
    place = (base, offset)
    if not isinstance(value, int) and ctx.terms.kinds[value[0]] in (HEAP, STACK):
        if s.holders.get(place) != value[0]:
            s.writable_holders()[place] = value[0]
    elif place in s.holders:
        del s.writable_holders()[place]


def _unlink(ctx: Context, s: State, base: int, stored: int) -> None:
    """An element leaves a doubly linked list: `*e->previous = e->next`.

    Whatever held it may be the place that is written to.
    """
    key = ctx.terms.keys[base]
    if key[0] != "cell" or ctx.terms.kinds[key[1]] != SYMBOL:
        return
    if ctx.terms.keys[stored][:2] != ("cell", key[1]):
        return
    element = key[1]
    for place, offset in _places_of(ctx, s, element):
        unknown = ctx.terms.symbol("unlinked", ctx.here, s.epoch, place, offset)
        set_cell(ctx, s, place, offset, unknown, POINTER_BYTES)


def _places_of(ctx: Context, s: State, element: int) -> list[tuple[int, int]]:
    """Where memory is known to hold an element: where it came from, and copies."""
    found = [
        (base, offset)
        for base, cells in s.memory.items()
        for offset, (value, _) in cells.items()
        if value == (element, 0) and isinstance(offset, int)
    ]
    key = ctx.terms.keys[element]
    if key[0] == "cell" and isinstance(key[2], int):
        base, offset = key[1], key[2]
        if offset not in s.memory.get(base, {}):
            found.append((base, offset))
    return found


def _forget_overlapped(
    ctx: Context, s: State, base: int, offset: int, size_bytes: int
) -> None:
    cells = s.memory.get(base)
    if not cells or (len(cells) == 1 and offset in cells):
        return
    end = offset + size_bytes
    overlapped = [
        other
        for other, (_, size) in cells.items()
        if isinstance(other, int)
        and other != offset
        and other < end
        and offset < other + size
    ]
    for other in overlapped:
        unknown = ctx.terms.symbol("smashed", ctx.here, s.epoch, base, other)
        set_cell(ctx, s, base, other, unknown, cells[other][1])


def _forget_numbers(s: State, base: int) -> None:
    """A write at an unknown index may have changed any number of the object."""
    cells = s.memory.get(base)
    if cells:
        numbers = [
            offset
            for offset in cells
            if isinstance(offset, int) and (base, offset) not in s.holders
        ]
        remove_cells(s, base, numbers)
    if base in s.zeroed:
        s.zeroed -= {base}


def remove_cells(s: State, base: int, offsets: Iterable[Offset]) -> None:
    """Forget cells of an object."""
    offsets = list(offsets)
    if not offsets:
        return
    cells = s.writable_cells(base)
    holders = s.holders
    for offset in offsets:
        cells.pop(offset, None)
        if (base, offset) in holders:
            holders = s.writable_holders()
            del holders[base, offset]


def remove_object(s: State, base: int) -> None:
    """Forget all cells of an object that nobody can read any more."""
    cells = s.memory.get(base)
    if cells is None:
        return
    for offset in cells:
        if (base, offset) in s.holders:
            del s.writable_holders()[base, offset]
    del s.writable_memory()[base]


def reachable(ctx: Context, s: State, roots: Iterable[int]) -> set[int]:
    """The roots and every object that their memory leads to.

    Memory below a symbol belongs to the object the symbol was read from.
    """
    seen = set(roots)
    if not s.holders:
        return seen
    edges: dict[int, list[int]] = {}
    for (base, _), target in s.holders.items():
        edges.setdefault(base, []).append(target)
        if ctx.terms.kinds[base] == SYMBOL:
            for ancestor in ctx.terms.ancestors(base):
                edges.setdefault(ancestor, []).append(target)
    work = list(seen)
    while work:
        for target in edges.get(work.pop(), ()):
            if target not in seen:
                seen.add(target)
                work.append(target)
    return seen


def escape(ctx: Context, s: State, value: Value) -> None:
    """The value goes where we do not look: what it leads to is no longer ours."""
    if isinstance(value, int) or ctx.terms.kinds[value[0]] == CODE:
        return
    parts = [part for part in mentioned(ctx, value) if not isinstance(part, int)]
    roots = [value[0], *(part[0] for part in parts)]
    for base in reachable(ctx, s, roots):
        escape_object(ctx, s, base)
        if ctx.terms.kinds[base] == HEAP:
            _escape_given(ctx, s, base)


def _escape_given(ctx: Context, s: State, base: int) -> None:
    """With an object go the pointers of callers that are stored in it."""
    for given in given_in(ctx, s, base):
        escape_object(ctx, s, given)


def given_in(ctx: Context, s: State, base: int) -> list[int]:
    """Bases of the symbols whose addresses are stored in an object."""
    return [
        value[0]
        for value, size in s.memory.get(base, {}).values()
        if size == POINTER_BYTES
        and not isinstance(value, int)
        and ctx.terms.kinds[value[0]] == SYMBOL
    ]


def escape_object(ctx: Context, s: State, base: int) -> None:
    """One object, or the unknown object behind a symbol, is no longer ours."""
    life = s.objects.get(base)
    kind = ctx.terms.kinds[base]
    if life == ALLOCATED or (
        life is None and kind == SYMBOL and _owned_by_caller(ctx, base)
    ):
        s.writable_objects()[base] = ESCAPED


def unsure_of_initial(
    ctx: Context, s: State, base: int, offset: Offset, values: tuple[Value, ...]
) -> None:
    """A place may or may not hold what it held at entry.

    A later write to it would look as if it always dropped that, so callers must not
    count on the old content being lost.
    """
    initial = ctx.terms.known(("cell", base, offset, 0))
    if initial is not None and (initial, 0) in values:
        escape_object(ctx, s, initial)


def _owned_by_caller(ctx: Context, base: int) -> bool:
    return ctx.terms.keys[base][0] in ("arg", "cell")


def mentioned(ctx: Context, value: Value) -> list[Value]:
    """The values that a joined or selected value may stand for."""
    if isinstance(value, int):
        return []
    if value[0] not in ctx.parts and ctx.terms.keys[value[0]][0] != "select":
        return []
    seen = {value[0]}
    found: list[Value] = []
    work = [value[0]]
    while work and len(found) < _MOST_PARTS:
        for part in _parts(ctx, work.pop()):
            if not isinstance(part, int) and part[0] not in seen:
                seen.add(part[0])
                found.append(part)
                work.append(part[0])
    return found


# More parts than this do not make a joined value better known.
_MOST_PARTS = 64


def _parts(ctx: Context, base: int) -> list[Value]:
    key = ctx.terms.keys[base]
    if key[0] == "select":
        return [key[2], key[3]]
    return list(ctx.parts.get(base, ()))


def escape_held(ctx: Context, s: State, base: int) -> None:
    """A read at an unknown index may take any pointer the object holds."""
    for (holder, _), target in list(s.holders.items()):
        if holder == base and s.objects.get(target) == ALLOCATED:
            escape(ctx, s, (target, 0))


def havoc(ctx: Context, s: State, value: Value) -> None:
    """Unknown code may keep the value and change all memory it leads to."""
    if isinstance(value, int):
        return
    escape(ctx, s, value)
    for base in reachable(ctx, s, (value[0],)):
        if ctx.terms.kinds[base] != CODE:
            forget_contents(ctx, s, base)


def overwrite(ctx: Context, s: State, value: Value) -> None:
    """The bytes that the value points to change in an unknown way."""
    if not isinstance(value, int) and ctx.terms.kinds[value[0]] != CODE:
        escape_held(ctx, s, value[0])
        forget_contents(ctx, s, value[0])


def forget_contents(ctx: Context, s: State, base: int) -> None:
    """Whatever the object holds is unknown from here on."""
    remove_cells(s, base, list(s.memory.get(base, ())))
    if base in s.zeroed:
        s.zeroed -= {base}
    renew(ctx, s, base)


def renew(ctx: Context, s: State, base: int) -> None:
    """What the object holds where nothing is known is new from here on."""
    s.writable_memory()
    s.versions[base] = 1 + ctx.terms.symbol("version", ctx.here, s.epoch, base)[0]


def change_globals(ctx: Context, s: State) -> None:
    """Unknown code of the program may have changed every global variable."""
    kinds = ctx.terms.kinds
    for base in [base for base in s.memory if kinds[base] == GLOBAL]:
        for value, _ in list(s.memory[base].values()):
            escape(ctx, s, value)
        remove_cells(s, base, list(s.memory[base]))
    s.world = 1 + ctx.terms.symbol("world", ctx.here, s.epoch)[0]


def escape_contents(ctx: Context, s: State, source: Value) -> None:
    """What the object holds is now also held by something we do not follow."""
    if isinstance(source, int):
        return
    escape_held(ctx, s, source[0])
    if ctx.terms.kinds[source[0]] == SYMBOL:
        s.copied |= {source[0]}


def peek(ctx: Context, s: State, pointer: Value) -> Value:
    """What memory holds there, whatever the width."""
    if isinstance(pointer, int):
        return ctx.terms.symbol("absolute", pointer, s.epoch)
    cell = s.memory.get(pointer[0], {}).get(pointer[1])
    if cell is not None:
        return cell[0]
    return load(ctx, s, pointer, POINTER_BYTES)
