"""Copies and fills of memory, cell by cell where their bounds are known."""

from leakline.static.engine import memory
from leakline.static.engine.context import Context
from leakline.static.engine.state import State
from leakline.static.engine.values import (
    CODE,
    GLOBAL,
    HEAP,
    STACK,
    SYMBOL,
    Offset,
    Value,
)


def copy_bytes(
    ctx: Context, s: State, target: Value, source: Value, length: Value
) -> None:
    """Copy memory: cells that lie within, or nothing known when bounds are open."""
    if isinstance(target, int) or isinstance(source, int):
        if not isinstance(source, int):
            memory.escape_held(ctx, s, source[0])
        return
    if not (
        isinstance(length, int)
        and isinstance(target[1], int)
        and isinstance(source[1], int)
    ):
        first = _first_byte(ctx, s, target, source)
        memory.escape_contents(ctx, s, source)
        memory.overwrite(ctx, s, target)
        if first is not None:
            memory.set_cell(ctx, s, target[0], target[1], first, 1)
        return
    _copy_cells(ctx, s, (target[0], target[1]), (source[0], source[1]), length)


def _first_byte(
    ctx: Context, s: State, target: tuple[int, Offset], source: tuple[int, Offset]
) -> Value | None:
    """Whether a copied text is empty is worth knowing, however long it is."""
    if target[1] != 0 or not isinstance(source[1], int):
        return None
    cell = s.memory.get(source[0], {}).get(source[1])
    if cell is None:
        return memory.untouched(ctx, s, source[0], source[1])
    return cell[0] if cell[1] == 1 else None


def _copy_cells(
    ctx: Context,
    s: State,
    target: tuple[int, int],
    source: tuple[int, int],
    length: int,
) -> None:
    copied = [
        (offset - source[1] + target[1], value, size)
        for offset, (value, size) in s.memory.get(source[0], {}).items()
        if isinstance(offset, int) and source[1] <= offset < source[1] + length
    ]
    known = {offset for offset, _, _ in copied}
    copied += _initial_words(ctx, s, target, source, length, known)
    replaced = _cells_within(s, target, length)
    memory.remove_cells(s, target[0], replaced)
    if target[0] in s.zeroed and source[0] not in s.zeroed:
        s.zeroed -= {target[0]}
    if length > _MOST_COPIED_WORDS * memory.POINTER_BYTES:
        memory.renew(ctx, s, target[0])
    for offset, value, size in copied:
        memory.set_cell(ctx, s, target[0], offset, value, size)


def _cells_within(s: State, place: tuple[int, int], length: int) -> list[Offset]:
    return [
        offset
        for offset in s.memory.get(place[0], {})
        if isinstance(offset, int) and place[1] <= offset < place[1] + length
    ]


# Structures up to this size keep the identity of fields read later from the copy.
_MOST_COPIED_WORDS = 16


def _initial_words(
    ctx: Context,
    s: State,
    target: tuple[int, int],
    source: tuple[int, int],
    length: int,
    known: set[int],
) -> list[tuple[int, Value, int]]:
    """Name the words of an untouched structure, so that its copy shares them."""
    words = length // memory.POINTER_BYTES
    if words > _MOST_COPIED_WORDS or ctx.terms.kinds[source[0]] not in (SYMBOL, GLOBAL):
        return []
    places = [index * memory.POINTER_BYTES for index in range(words)]
    return [
        (
            target[1] + place,
            memory.untouched(ctx, s, source[0], source[1] + place),
            memory.POINTER_BYTES,
        )
        for place in places
        if not any(
            target[1] + place <= offset < target[1] + place + memory.POINTER_BYTES
            for offset in known
        )
    ]


def fill_bytes(
    ctx: Context, s: State, target: Value, byte: Value, length: Value
) -> None:
    """Fill memory: zero stays known when it covers everything from the start."""
    if isinstance(target, int):
        return
    base, offset = target
    if not (isinstance(length, int) and isinstance(offset, int)) or byte != 0:
        overwrite_within(ctx, s, target, length)
        return
    whole = offset == 0 and all(
        isinstance(other, int) and other < length for other in s.memory.get(base, {})
    )
    memory.remove_cells(s, base, _cells_within(s, (base, offset), length))
    if whole and ctx.terms.kinds[base] in (HEAP, STACK):
        s.zeroed |= {base}
        return
    for place in range(0, min(length, _MOST_COPIED_WORDS * memory.POINTER_BYTES), 8):
        memory.set_cell(ctx, s, base, offset + place, 0, min(8, length - place))


def overwrite_within(
    ctx: Context, s: State, target: tuple[int, Offset], length: Value
) -> None:
    """Bytes from the target on change in an unknown way."""
    if isinstance(length, int) and isinstance(target[1], int):
        memory.remove_cells(
            s, target[0], _cells_within(s, (target[0], target[1]), length)
        )
        s.zeroed -= {target[0]}
        memory.renew(ctx, s, target[0])
    else:
        memory.overwrite(ctx, s, target)


def scribble(ctx: Context, s: State, target: Value) -> None:
    """A library function writes bytes here; pointers stored beside them stay."""
    if isinstance(target, int) or ctx.terms.kinds[target[0]] == CODE:
        return
    base, offset = target
    cells = s.memory.get(base, {})
    if isinstance(offset, int) and offset > 0:
        written = [
            other
            for other in _cells_within(s, (base, offset), memory.POINTER_BYTES)
            if other == offset or (base, other) not in s.holders
        ]
        memory.remove_cells(s, base, written)
        unknown = ctx.terms.symbol("written", ctx.here, s.epoch, base)
        memory.set_cell(ctx, s, base, offset, unknown, 1)
        return
    memory.remove_cells(s, base, [o for o in cells if (base, o) not in s.holders])
    s.zeroed -= {base}
    memory.renew(ctx, s, base)
