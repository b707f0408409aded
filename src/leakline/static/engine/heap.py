"""The life of heap objects: allocation, release, and the loss of the last reference."""

from leakline.model.finding import Cause, Kind
from leakline.static.engine import memory
from leakline.static.engine.constraints import is_null, refine
from leakline.static.engine.context import Context
from leakline.static.engine.findings import Drop, Event, record, report
from leakline.static.engine.ranges import NON_NULL
from leakline.static.engine.releases import note_release
from leakline.static.engine.state import ALLOCATED, ESCAPED, FREED, State
from leakline.static.engine.summary import Allocation
from leakline.static.engine.values import GLOBAL, HEAP, STACK, SYMBOL, Value
from leakline.static.engine.words import slot_name

# Releasing through these is right whatever allocated the object.
ANY_FAMILY = ""
# Tags of symbols for memory that callers own.
_OF_CALLERS = frozenset({"arg", "cell"})


def allocate(
    ctx: Context, s: State, site: tuple[object, ...], allocation: Allocation
) -> tuple[int, int]:
    """A new object of this site; sites met again take the first free number."""
    terms = ctx.terms
    number = 0
    while True:
        base = terms.base(HEAP, ("heap", site, number))
        if base not in s.objects:
            break
        number += 1
    ctx.allocations[base] = allocation
    s.writable_objects()[base] = ALLOCATED
    if allocation.zeroed:
        s.zeroed |= {base}
    elif base in s.zeroed:
        s.zeroed -= {base}
    record(ctx, s, Event("allocated", ctx.here, base, allocation))
    return base, 0


def release(
    ctx: Context, s: State, value: Value, family: str, *, detail: object = None
) -> None:
    """Free what the value points to."""
    if isinstance(value, int) or is_null(ctx, s, value) is True:
        return
    base = value[0]
    kind = ctx.terms.kinds[base]
    life = s.objects.get(base)
    if life == FREED:
        if not _is_hearsay(ctx, base):
            report(ctx, s, Kind.DOUBLE_FREE, base, ctx.here)
        return
    if kind == HEAP:
        _check_family(ctx, s, base, family)
    elif kind != SYMBOL or ctx.terms.is_stream(base):
        return  # the process owns its standard streams, whoever closes them
    if not isinstance(value[1], int) or base in ctx.parts:
        memory.escape(ctx, s, value)
        return
    record(ctx, s, Event("freed", ctx.here, base, detail))
    note_release(ctx, base)
    _drop_contents(ctx, s, base)
    s.writable_objects()[base] = FREED
    if kind == SYMBOL:
        ctx.releases[base] = (family, ctx.here)
        refine(ctx, s, base, NON_NULL)


def _check_family(ctx: Context, s: State, base: int, family: str) -> None:
    wanted = ctx.allocations[base].family
    if family != wanted and ANY_FAMILY not in (family, wanted):
        report(ctx, s, Kind.MISMATCHED_RELEASE, base, ctx.here)


def _drop_contents(ctx: Context, s: State, base: int) -> None:
    """Freeing an object drops the references it holds."""
    for (holder, offset), target in list(s.holders.items()):
        if holder == base:
            del s.writable_holders()[holder, offset]
            drop(ctx, s, target, Cause.CONTAINER_FREED, None)


def follow(ctx: Context, s: State, pointer: Value) -> None:
    """Memory is read or written through the pointer: it is not null."""
    use(ctx, s, pointer)
    if not isinstance(pointer, int):
        mark_pointed(ctx, s, pointer[0])


def mark_pointed(ctx: Context, s: State, base: int) -> None:
    """Remember that a symbol is the address of something."""
    if base not in s.pointed and ctx.terms.kinds[base] == SYMBOL:
        s.pointed |= {base}


def use(ctx: Context, s: State, pointer: Value) -> None:
    """The pointer is handed to code that may look at what it points to."""
    if isinstance(pointer, int) or s.objects.get(pointer[0]) != FREED:
        return
    if not _is_hearsay(ctx, pointer[0]):
        report(ctx, s, Kind.USE_AFTER_FREE, pointer[0], ctx.here)


def _is_hearsay(ctx: Context, base: int) -> bool:
    """Whether the object is what a global held after unknown code changed it.

    A function that does not name the global itself cannot tell one change from the
    next.
    """
    key = ctx.terms.keys[base]
    while key[0] == "cell":
        holder = ctx.terms.keys[key[1]]
        if holder[0] == "global":
            return bool(key[3]) and holder[1] not in ctx.own
        key = holder
    return False


def drop(ctx: Context, s: State, base: int, cause: Cause, slot: str | None) -> None:
    """In a replay, note which reference to a tracked object went away last."""
    if ctx.replaying and s.objects.get(base) == ALLOCATED:
        s.writable_dropped()[base] = Drop(cause, ctx.here, slot)


def overwrite(
    ctx: Context, s: State, pointer: Value, *, is_by_callee: bool = False
) -> None:
    """In a replay, note that the place gives up the reference it holds."""
    if not ctx.replaying or isinstance(pointer, int):
        return
    held = s.holders.get(pointer)
    if held is not None and s.objects.get(held) == ALLOCATED:
        is_global = ctx.terms.kinds[pointer[0]] == GLOBAL
        s.writable_dropped()[held] = Drop(
            Cause.OVERWRITTEN,
            ctx.here,
            slot_name(ctx, pointer),
            is_global,
            is_by_callee,
        )


def find_lost(ctx: Context, s: State, roots: list[int]) -> list[int]:
    """Tracked objects that neither the roots nor anything outside can reach."""
    tracked = [base for base, life in s.objects.items() if life == ALLOCATED]
    if not tracked:
        return []
    seen = memory.reachable(ctx, s, roots + _outside(ctx, s))
    return _leaders(ctx, s, [base for base in tracked if base not in seen])


def _leaders(ctx: Context, s: State, lost: list[int]) -> list[int]:
    """Of objects lost together, those that no other one leads to."""
    if len(lost) == 1:
        return lost
    led: set[int] = set()
    leaders = []
    for base in lost:
        if base not in led:
            led |= memory.reachable(ctx, s, (base,))
            leaders.append(base)
    held = {t for (b, _), t in s.holders.items() if b in led and b != t}
    return [base for base in leaders if base not in held] or leaders[:1]


def _outside(ctx: Context, s: State) -> list[int]:
    """Objects that code outside this function may still look into."""
    kinds = ctx.terms.kinds
    found = [base for base, _ in s.holders if kinds[base] in (SYMBOL, GLOBAL)]
    found.extend(base for base, life in s.objects.items() if life == ESCAPED)
    return found


def collect(ctx: Context, s: State) -> None:
    """Report and forget the objects that no register, variable or frame can reach."""
    if not s.objects:
        return
    kinds = ctx.terms.kinds
    registers = _register_roots(ctx, s)
    roots = [*registers, *s.variables.values()]
    roots.extend(base for base, _ in s.holders if kinds[base] == STACK)
    for base in find_lost(ctx, s, roots):
        report_lost(ctx, s, base)
    _forget_unreachable(ctx, s, roots)
    _forget_freed(ctx, s, registers)


def _register_roots(ctx: Context, s: State) -> list[int]:
    roots: list[int] = []
    for value in s.env.values():
        if not isinstance(value, int):
            roots.extend(bases_in(ctx, value))
    return roots


def bases_in(ctx: Context, value: Value) -> list[int]:
    """The bases a value mentions, those inside its expression included."""
    if isinstance(value, int):
        return []
    parts = memory.mentioned(ctx, value)
    return [value[0], *(part[0] for part in parts if not isinstance(part, int))]


def report_lost(ctx: Context, s: State, base: int, *, leaving: int = -1) -> None:
    """Report a leak; `leaving` is the location of the return that caused it."""
    cause = s.dropped.get(base)
    if cause is None:
        where = ctx.here if leaving < 0 else leaving
        held = leaving >= 0 and (
            base in s.variables.values() or base in s.holders.values()
        )
        cause = Drop(Cause.OUT_OF_SCOPE if held else Cause.NEVER_STORED, where, None)
    record(ctx, s, Event("lost", cause.location, base, cause))
    report(ctx, s, Kind.LOST, base, cause.location, drop=cause)


def _forget_unreachable(ctx: Context, s: State, roots: list[int]) -> None:
    """Forget heap objects that nothing leads to, so that states become equal."""
    kinds = ctx.terms.kinds
    own = [base for base in s.objects if kinds[base] == HEAP]
    if not own:
        return
    seen = memory.reachable(ctx, s, roots + _outside(ctx, s))
    for base in own:
        if base not in seen:
            _forget(s, base)


def _forget_freed(ctx: Context, s: State, registers: list[int]) -> None:
    """Forget freed objects that neither a register nor memory still points to.

    Nobody can free or use them again, and variables that are not read any more must
    not tell states apart. What callers gave stays: they must hear of its release.
    """
    freed = {
        base
        for base, life in s.objects.items()
        if life == FREED and ctx.terms.keys[base][0] not in _OF_CALLERS
    }
    if not freed:
        return
    freed.difference_update(registers)
    freed.difference_update(s.holders.values())
    if any(ctx.terms.kinds[base] == SYMBOL for base in freed):
        freed -= _stored_bases(ctx, s)
    for base in freed:
        _forget(s, base)


def _stored_bases(ctx: Context, s: State) -> set[int]:
    return {
        base
        for cells in s.memory.values()
        for value, _ in cells.values()
        for base in bases_in(ctx, value)
    }


def _forget(s: State, base: int) -> None:
    del s.writable_objects()[base]
    memory.remove_object(s, base)
    for variable in [v for v, held in s.variables.items() if held == base]:
        del s.writable_variables()[variable]
