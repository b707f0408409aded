"""From the states at a function's returns to its summary."""

from collections import Counter
from dataclasses import replace

from leakline.static.engine import memory
from leakline.static.engine.blocks import Exit
from leakline.static.engine.constraints import is_null
from leakline.static.engine.context import Context
from leakline.static.engine.correlation import possible_alternatives
from leakline.static.engine.heap import bases_in
from leakline.static.engine.joining import join_equal
from leakline.static.engine.naming import Namer, nameable
from leakline.static.engine.places import place_of
from leakline.static.engine.ranges import Range
from leakline.static.engine.state import ALLOCATED, ESCAPED, FREED, State
from leakline.static.engine.summary import (
    Conditions,
    Disjunct,
    Label,
    Latent,
    Name,
    NamedValue,
    Release,
    Summary,
    Write,
)
from leakline.static.engine.values import GLOBAL, HEAP, STACK, SYMBOL, Value

_MOST_WRITES = 80
_MOST_CONDITIONS = 24
_WEIGHTS = {"eq": 0, "slt": 0, "ult": 0, "arg": 1}
_MOST_UNKNOWN = 40


def summarise(ctx: Context, exits: list[Exit], latent: tuple[Latent, ...]) -> Summary:
    """One disjunct for each behaviour, equal ones joined."""
    disjuncts = join_equal(_disjunct(ctx, left) for left in exits)
    if len(disjuncts) > ctx.options.most_disjuncts:
        disjuncts = _fewer(disjuncts, ctx.options.most_disjuncts)
    return Summary(
        function=ctx.function_id,
        display=ctx.function.display,
        disjuncts=mark_counted(tuple(disjuncts)),
        latent=latent,
        parameters=tuple(p.name for p in ctx.function.declaration.parameters),
    )


def _disjunct(ctx: Context, left: Exit) -> Disjunct:
    s = left.state
    namer = Namer(ctx)
    result = None if left.value is None else namer.value(left.value)
    reached = memory.reachable(ctx, s, _visible_roots(ctx, s, left.value))
    escaped = _escapes(ctx, s, left.value)
    writes, overwritten, lost = _writes(ctx, s, namer, reached)
    escaped.update(lost)
    frees = _frees(ctx, s, namer)
    alternatives = _alternatives(ctx, s, namer)
    allocations = tuple(
        replace(ctx.allocations[base], zeroed=base in s.zeroed) for base in namer.heap
    )
    kept = frozenset(
        number
        for number, base in enumerate(namer.heap)
        if s.objects.get(base) != ALLOCATED or base in escaped
    )
    names = [namer.base(base) for base in sorted(escaped) if _named(ctx, s, base)]
    return Disjunct(
        alternatives=alternatives,
        allocations=allocations,
        kept=kept,
        frees=frees,
        escapes=tuple((name, 0) for name in names),
        writes=writes,
        copied=frozenset(
            namer.base(_nearest_named(ctx, base))
            for base in s.copied
            if nameable(ctx, _nearest_named(ctx, base))
        ),
        overwritten=overwritten,
        unknown=tuple(
            (number, s.ranges[base])
            for base, number in namer.unknown.items()
            if base in s.ranges
        ),
        result=result,
        throws=_thrown(ctx, left),
        changes_world=s.world != 0,
        touched=s.touched,
        pointed=_pointed(ctx, s),
    )


def _pointed(ctx: Context, s: State) -> frozenset[int]:
    keys = map(ctx.terms.keys.__getitem__, s.pointed)
    return frozenset(key[1] for key in keys if key[0] == "arg")


def _thrown(ctx: Context, left: Exit) -> Name | None:
    if not left.thrown:
        return None
    value = left.state.thrown
    if value is None or isinstance(value, int) or not nameable(ctx, value[0]):
        return ("new", "exception")
    return ctx.terms.keys[value[0]]


def _named(ctx: Context, s: State, base: int) -> bool:
    return nameable(ctx, base) and s.objects.get(base) != FREED


def _visible_roots(ctx: Context, s: State, value: Value | None) -> list[int]:
    roots = [
        base
        for base in s.memory
        if ctx.terms.kinds[base] in (SYMBOL, GLOBAL) and nameable(ctx, base)
    ]
    if value is not None:
        roots.extend(bases_in(ctx, value))
    return roots


def _escapes(ctx: Context, s: State, value: Value | None) -> set[int]:
    """Objects that callers must no longer follow."""
    found = {
        _nearest_named(ctx, base)
        for base, life in s.objects.items()
        if ctx.terms.kinds[base] == SYMBOL
        and (life == ESCAPED or not nameable(ctx, base))
    }
    if value is not None and not isinstance(value, int) and not nameable(ctx, value[0]):
        # The result may be one of several values: all of them may live on in it.
        found.update(
            base
            for base in bases_in(ctx, value)[1:]
            if ctx.terms.kinds[base] in (SYMBOL, HEAP)
        )
    return found


def _nearest_named(ctx: Context, base: int) -> int:
    """The object itself, or the nearest one that leads to it and has a name."""
    for ancestor in (base, *ctx.terms.ancestors(base)):
        if nameable(ctx, ancestor):
            return ancestor
    return base


def _writes(
    ctx: Context, s: State, namer: Namer, reached: set[int]
) -> tuple[tuple[Write, ...], tuple[Name, ...], set[int]]:
    writes: list[Write] = []
    overwritten: list[Name] = []
    lost: set[int] = set()
    for base, cells in s.memory.items():
        kind = ctx.terms.kinds[base]
        if kind == STACK:
            continue
        visible = nameable(ctx, base) if kind != HEAP else base in reached
        if visible and s.versions.get(base, 0) and kind != HEAP:
            overwritten.append(namer.base(base))
        for offset, (value, size) in cells.items():
            if visible and isinstance(offset, int) and len(writes) < _MOST_WRITES:
                if not _unchanged(ctx, s, base, offset, value):
                    if size == memory.POINTER_BYTES:
                        lost.update(_unnamed_parts(ctx, value))
                    name = namer.base(base)
                    namer.label = ("at", name, offset)
                    exists = is_null(ctx, s, (base, 0)) is False
                    written = namer.value(value)
                    writes.append(Write(name, offset, written, size, not exists))
            elif size == memory.POINTER_BYTES and (kind != HEAP or base in reached):
                lost.update(_pointers(ctx, s, value))
    limited = {number for base, number in namer.unknown.items() if base in s.ranges}
    kept = _collapsed(writes, overwritten, limited)
    return kept, tuple(dict.fromkeys(overwritten)), lost


def _collapsed(
    writes: list[Write], overwritten: list[Name], limited: set[Label]
) -> tuple[Write, ...]:
    """Many unknown values in one object say no more than that it changed."""
    unknown = Counter(w.base for w in writes if _is_unknown(w.value, limited))
    many = {base for base, count in unknown.items() if count > _MOST_UNKNOWN}
    overwritten.extend(base for base in unknown if base in many)
    return tuple(
        w for w in writes if w.base not in many or not _is_unknown(w.value, limited)
    )


def _is_unknown(value: NamedValue, limited: set[Label]) -> bool:
    return (
        not isinstance(value, int)
        and value[0][0] == "new"
        and value[0][1] not in limited
    )


def _unchanged(ctx: Context, s: State, base: int, offset: int, value: Value) -> bool:
    """Whether memory held the value at entry already."""
    if isinstance(value, int):
        before = ctx.terms.known(("cell", base, offset, 0))
        known = None if before is None else s.ranges.get(before)
        return known is not None and known[0] == known[1] == value
    return value[1] == 0 and ctx.terms.keys[value[0]] == ("cell", base, offset, 0)


def _unnamed_parts(ctx: Context, value: Value) -> list[int]:
    """Objects of the caller that a value without a name may stand for."""
    if isinstance(value, int) or nameable(ctx, value[0]):
        return []
    return [b for b in bases_in(ctx, value)[1:] if ctx.terms.kinds[b] in (SYMBOL, HEAP)]


def _pointers(ctx: Context, s: State, value: Value) -> set[int]:
    """Objects that a value stored out of sight leads to."""
    if isinstance(value, int):
        return set()
    found = memory.reachable(ctx, s, bases_in(ctx, value))
    own = [base for base in found if ctx.terms.kinds[base] == HEAP]
    for base in own:
        found.update(memory.given_in(ctx, s, base))
    return found


def _frees(ctx: Context, s: State, namer: Namer) -> tuple[Release, ...]:
    found = []
    for base, life in s.objects.items():
        kind = ctx.terms.kinds[base]
        if life == FREED and kind == SYMBOL and nameable(ctx, base):
            family, location = ctx.releases.get(base, ("", 0))
            place = place_of(ctx, location)
            found.append(Release((namer.base(base), 0), family, (place,)))
    return tuple(found)


def _alternatives(ctx: Context, s: State, namer: Namer) -> tuple[Conditions, ...]:
    return tuple(
        dict.fromkeys(
            _conditions(ctx, {**s.ranges, **dict(known)}, namer)
            for known in possible_alternatives(s) or ((),)
        )
    )


def _conditions(ctx: Context, ranges: dict[int, Range], namer: Namer) -> Conditions:
    found = [
        (namer.base(base), known)
        for base, known in ranges.items()
        if nameable(ctx, base)
    ]
    if len(found) > _MOST_CONDITIONS:
        # Numbers compared with each other decide most, then what arguments are.
        found.sort(key=lambda item: _WEIGHTS.get(item[0][0], 2))
    return tuple(found[:_MOST_CONDITIONS])


def _fewer(disjuncts: list[Disjunct], most: int) -> list[Disjunct]:
    """Too many: the rest become one in which all that they touch escapes."""
    kept, rest = disjuncts[: most - 1], disjuncts[most - 1 :]
    escapes: dict[NamedValue, None] = {}
    for d in rest:
        escapes.update(dict.fromkeys(d.escapes))
        escapes.update(dict.fromkeys(item.value for item in d.frees))
        escapes.update(
            dict.fromkeys(
                (item.value[0], 0)
                for item in d.writes
                if not isinstance(item.value, int)
                and item.value[0][0] in ("arg", "cell")
            )
        )
    bases = dict.fromkeys(w.base for d in rest for w in d.writes if w.base[0] != "heap")
    overwritten = dict.fromkeys(name for d in rest for name in d.overwritten)
    escapes.update(dict.fromkeys((name, 0) for name in bases if name[0] != "global"))
    both = tuple(dict.fromkeys((*overwritten, *bases)))
    has_result = any(d.result is not None for d in rest)
    return [
        *kept,
        Disjunct(
            escapes=tuple(escapes),
            overwritten=both,
            result=(("new", "any"), 0) if has_result else None,
            changes_world=True,
            copied=frozenset(name for d in rest for name in d.copied),
            touched=frozenset(name for d in rest for name in d.touched),
            joined=True,
        ),
    ]


def mark_counted(disjuncts: tuple[Disjunct, ...]) -> tuple[Disjunct, ...]:
    """Find reference counts: a number in an object changed, and a sibling frees it."""
    freed = {item.value for d in disjuncts for item in d.frees}
    if not freed or len(disjuncts) == 1:
        return disjuncts
    return tuple(_with_counters(d, freed) for d in disjuncts)


def _with_counters(d: Disjunct, freed: set[NamedValue]) -> Disjunct:
    mine = {item.value for item in d.frees}
    counted = tuple(
        ((item.base, 0), ("cell", item.base, item.offset))
        for item in d.writes
        if (item.base, 0) in freed and (item.base, 0) not in mine and _is_step(item)
    )
    return replace(d, counted=counted)


def _is_step(item: Write) -> bool:
    """Whether the write stores what was there plus or minus a number."""
    value = item.value
    if isinstance(value, int):
        return False
    same = value[0] == ("cell", item.base, item.offset)
    return same and isinstance(value[1], int) and value[1] != 0
