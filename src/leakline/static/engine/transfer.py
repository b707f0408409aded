"""What each instruction does to a state."""

from collections.abc import Callable
from typing import Any, TypeAlias

from leakline.model.finding import Cause, Kind
from leakline.static.engine import copying, memory
from leakline.static.engine.arithmetic import binary, cast, indexed
from leakline.static.engine.calls import call, value_of
from leakline.static.engine.constraints import assume, compare, constrain
from leakline.static.engine.context import Context
from leakline.static.engine.control import BIND
from leakline.static.engine.exceptions import handled, landing
from leakline.static.engine.findings import report
from leakline.static.engine.heap import drop, follow, overwrite, use
from leakline.static.engine.ranges import TRUTH
from leakline.static.engine.state import ALLOCATED, State
from leakline.static.engine.values import HEAP, STACK, Value, moved
from leakline.static.engine.words import variable_name
from leakline.static.instructions import AccessFlag, AsmFlag, Op

# A row of the facts; its fields are named in leakline.static.instructions.
Row: TypeAlias = Any
# What a plain instruction does: None goes on with the same state, a list with others.
Handler: TypeAlias = Callable[[Context, State, Row], list[State] | None]

_POINTER_BITS = 64
_NULL_PAGE_BYTES = 4096
_TRUTH_OPERATIONS = frozenset({"and", "or"})


def bits_of(ty: int | None) -> int:
    """Width of an integer or pointer; 0 for anything else."""
    if ty is None or ty < 0:
        return 0
    return ty or _POINTER_BITS


def _alloca(ctx: Context, s: State, row: Row) -> None:
    base = ctx.terms.base(STACK, ("frame", row[1]))
    s.env[row[1]] = (base, 0)
    if base in s.memory:
        memory.forget_contents(ctx, s, base)


def _load(ctx: Context, s: State, row: Row) -> list[State] | None:
    pointer = value_of(ctx, s, row[3])
    if _is_null_page(pointer):
        return _null_used(ctx, s)
    follow(ctx, s, pointer)
    value = memory.load(ctx, s, pointer, row[5])
    if row[6] & AccessFlag.VOLATILE and not _is_settled(ctx, pointer):
        # Perhaps what we know to be there, perhaps something else by now.
        memory.escape(ctx, s, value)
        value = ctx.terms.symbol("volatile", row[1], s.epoch)
    s.env[row[1]] = value
    return None


def _is_settled(ctx: Context, pointer: Value) -> bool:
    """Whether nothing unseen changes a volatile: a local, or what nobody writes."""
    if isinstance(pointer, int):
        return False
    base, offset = pointer
    if ctx.terms.kinds[base] == STACK:
        return True
    return isinstance(offset, int) and ctx.initial(base, offset) is not None


def _is_null_page(pointer: Value) -> bool:
    return isinstance(pointer, int) and 0 <= pointer < _NULL_PAGE_BYTES


def _null_used(ctx: Context, s: State) -> list[State]:
    """The program ends where it follows a null pointer."""
    report(ctx, s, Kind.NULL_DEREFERENCE, -1, ctx.here)
    return []


def _store(ctx: Context, s: State, row: Row) -> list[State] | None:
    pointer = value_of(ctx, s, row[4])
    if _is_null_page(pointer):
        return _null_used(ctx, s)
    follow(ctx, s, pointer)
    overwrite(ctx, s, pointer)
    memory.store(ctx, s, pointer, value_of(ctx, s, row[3]), row[6])
    return None


def _address(ctx: Context, s: State, row: Row) -> None:
    value = moved(value_of(ctx, s, row[3]), row[4])
    for operand, scale in row[5]:
        value = indexed(ctx, s, value, value_of(ctx, s, operand), scale)
    s.env[row[1]] = value


def _compare(ctx: Context, s: State, row: Row) -> None:
    left, right = value_of(ctx, s, row[4]), value_of(ctx, s, row[5])
    if ctx.unwound and row[3] == "eq":
        taken = handled(ctx, left, right)
        if taken is not None:
            s.env[row[1]] = int(taken)
            return
    s.env[row[1]] = compare(ctx, s, row[3], left, right)


def _landingpad(ctx: Context, s: State, row: Row) -> None:
    s.env[row[1]] = landing(ctx, s, row[1])


def _select(ctx: Context, s: State, row: Row) -> list[State] | None:
    condition = value_of(ctx, s, row[3])
    if isinstance(condition, int):
        s.env[row[1]] = value_of(ctx, s, row[4] if condition else row[5])
        return None
    yes, no = value_of(ctx, s, row[4]), value_of(ctx, s, row[5])
    if yes == no:
        s.env[row[1]] = yes
        return None
    if ctx.replaying or _is_object(ctx, yes) or _is_object(ctx, no) or row[6] == 1:
        return _split(ctx, s, row[1], condition, yes, no)
    s.env[row[1]] = ctx.terms.symbol("select", condition, yes, no)
    return None


def _is_object(ctx: Context, value: Value) -> bool:
    return not isinstance(value, int) and ctx.terms.kinds[value[0]] == HEAP


def _split(
    ctx: Context, s: State, register: int, condition: Value, yes: Value, no: Value
) -> list[State]:
    states = []
    other = s.copy()
    for state, value, truth in ((s, yes, True), (other, no, False)):
        if assume(ctx, state, condition, truth=truth):
            state.env[register] = value
            note_condition(ctx, state, condition, truth=truth)
            states.append(state)
    return states


def note_condition(ctx: Context, s: State, condition: Value, *, truth: bool) -> None:
    """In a replay, remember a condition for the solver."""
    if ctx.replaying and not isinstance(condition, int):
        s.path = (s.path, (condition, truth))


def _binary(ctx: Context, s: State, row: Row) -> list[State] | None:
    left, right = value_of(ctx, s, row[4]), value_of(ctx, s, row[5])
    bits = bits_of(row[6])
    s.env[row[1]] = binary(ctx, s, row[3], left, right, bits)
    return None


def _cast(ctx: Context, s: State, row: Row) -> None:
    value = value_of(ctx, s, row[4])
    s.env[row[1]] = cast(ctx, s, row[3], value, bits_of(row[5]), bits_of(row[6]))


def _call(ctx: Context, s: State, row: Row) -> list[State]:
    callee = None if isinstance(row[3], str) else value_of(ctx, s, row[3])
    return call(ctx, s, row, callee)


def _asm(ctx: Context, s: State, row: Row) -> None:
    if row[5] & AsmFlag.NO_INSTRUCTIONS and len(row[3]) <= 1:
        if row[1] >= 0 and row[3]:
            s.env[row[1]] = value_of(ctx, s, row[3][0])
        elif row[1] >= 0:
            _unknown(ctx, s, row)
        return
    for operand in row[3]:
        memory.havoc(ctx, s, value_of(ctx, s, operand))
    _unknown(ctx, s, row)


def _copy(ctx: Context, s: State, row: Row) -> None:
    target, source = value_of(ctx, s, row[3]), value_of(ctx, s, row[4])
    use(ctx, s, target)
    use(ctx, s, source)
    copying.copy_bytes(ctx, s, target, source, value_of(ctx, s, row[5]))


def _fill(ctx: Context, s: State, row: Row) -> None:
    target = value_of(ctx, s, row[3])
    use(ctx, s, target)
    copying.fill_bytes(
        ctx, s, target, value_of(ctx, s, row[4]), value_of(ctx, s, row[5])
    )


def _extract(ctx: Context, s: State, row: Row) -> None:
    """Members of an aggregate value are kept by its insertions."""
    aggregate = value_of(ctx, s, row[3])
    if not isinstance(aggregate, int):
        key = ctx.terms.keys[aggregate[0]]
        while key[0] == "insert":
            if key[3] == row[4]:
                s.env[row[1]] = key[2]
                return
            if isinstance(key[1], int):
                break
            key = ctx.terms.keys[key[1][0]]
    s.env[row[1]] = ctx.terms.symbol("extract", aggregate, row[4])


def _insert(ctx: Context, s: State, row: Row) -> None:
    aggregate, value = value_of(ctx, s, row[3]), value_of(ctx, s, row[4])
    memory.escape(ctx, s, value)
    s.env[row[1]] = ctx.terms.symbol("insert", aggregate, value, row[5])


def _atomic(ctx: Context, s: State, row: Row) -> None:
    pointer, value = value_of(ctx, s, row[4]), value_of(ctx, s, row[5])
    use(ctx, s, pointer)
    bits = bits_of(row[7])
    size = max(bits // 8, 1)
    old = memory.load(ctx, s, pointer, size)
    if row[3] == "cmpxchg":
        memory.escape(ctx, s, value)
        copying.scribble(ctx, s, pointer)
        s.env[row[1]] = ctx.terms.symbol("exchange", row[1], s.epoch)
        return
    new = value if row[3] == "xchg" else binary(ctx, s, row[3], old, value, bits)
    memory.store(ctx, s, pointer, new, size)
    s.env[row[1]] = old


def _variadic(ctx: Context, s: State, row: Row) -> None:
    copying.scribble(ctx, s, value_of(ctx, s, row[4]))
    _unknown(ctx, s, row)


def _assume(ctx: Context, s: State, row: Row) -> list[State] | None:
    return None if assume(ctx, s, value_of(ctx, s, row[3]), truth=True) else []


def _unknown(ctx: Context, s: State, row: Row) -> None:
    if row[1] >= 0:
        s.env[row[1]] = ctx.terms.symbol("other", row[1], s.epoch)
        if row[0] == Op.OTHER and row[3] == "fcmp":
            constrain(ctx, s, s.env[row[1]], TRUTH)


def _other(ctx: Context, s: State, row: Row) -> None:
    for operand in row[4]:
        memory.escape(ctx, s, value_of(ctx, s, operand))
    _unknown(ctx, s, row)


def _bind(ctx: Context, s: State, row: Row) -> None:
    """A source variable takes a value; only those that hold objects matter."""
    variable, operand = row[3], row[4]
    held = s.variables.get(variable)
    value = 0 if operand is None else value_of(ctx, s, operand)
    base = value[0] if _is_object(ctx, value) else None  # type: ignore[index]
    if held == base:
        return
    if held is not None:
        if s.objects.get(held) == ALLOCATED and row[2]:
            drop(ctx, s, held, Cause.OVERWRITTEN, variable_name(ctx, variable))
        del s.writable_variables()[variable]
    if base is not None:
        s.writable_variables()[variable] = base


def _nothing(ctx: Context, s: State, row: Row) -> None:
    del ctx, s, row


HANDLERS: dict[int, Handler] = {
    Op.ALLOCA: _alloca,
    Op.LOAD: _load,
    Op.STORE: _store,
    Op.ADDRESS: _address,
    Op.COMPARE: _compare,
    Op.PHI: _nothing,
    Op.SELECT: _select,
    Op.BINARY: _binary,
    Op.CAST: _cast,
    Op.CALL: _call,
    Op.LANDINGPAD: _landingpad,
    Op.ASM: _asm,
    Op.COPY: _copy,
    Op.FILL: _fill,
    Op.VARIADIC: _variadic,
    Op.EXTRACT: _extract,
    Op.INSERT: _insert,
    Op.ATOMIC: _atomic,
    Op.ASSUME: _assume,
    Op.OTHER: _other,
    BIND: _bind,
}
