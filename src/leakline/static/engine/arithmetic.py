"""Arithmetic and conversions on values; numbers are kept as signed integers."""

from collections.abc import Callable

from leakline.static.engine import memory
from leakline.static.engine.constraints import negation, value_range
from leakline.static.engine.context import Context
from leakline.static.engine.state import State
from leakline.static.engine.values import SYMBOL, Offset, Value, moved

_MOST_SHIFT = 64
_POINTER_BITS = 64


def wrapped(number: int, bits: int) -> int:
    """The number as a signed integer of so many bits."""
    if bits <= 0:
        return number
    number &= (1 << bits) - 1
    if bits > 1 and number >> (bits - 1):
        number -= 1 << bits
    return number


def unsigned(number: int, bits: int) -> int:
    """The number as an unsigned integer of so many bits."""
    return number & ((1 << bits) - 1)


def _divide(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


_NUMBERS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda x, y, _: x + y,
    "sub": lambda x, y, _: x - y,
    "mul": lambda x, y, _: x * y,
    "and": lambda x, y, _: x & y,
    "or": lambda x, y, _: x | y,
    "xor": lambda x, y, _: x ^ y,
    "shl": lambda x, y, _: x << (y % _MOST_SHIFT),
    "lshr": lambda x, y, bits: unsigned(x, bits) >> (y % _MOST_SHIFT),
    "ashr": lambda x, y, _: x >> (y % _MOST_SHIFT),
}

_DIVISIONS: dict[str, Callable[[int, int, int], int]] = {
    "sdiv": lambda x, y, _: _divide(x, y),
    "srem": lambda x, y, _: x - y * _divide(x, y),
    "udiv": lambda x, y, bits: unsigned(x, bits) // unsigned(y, bits),
    "urem": lambda x, y, bits: unsigned(x, bits) % unsigned(y, bits),
}

_COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor"})
# x <operator> 0 is x.
_KEEPS_WITH_ZERO = frozenset({"add", "sub", "or", "xor", "shl", "lshr", "ashr"})


def binary(
    ctx: Context, s: State, operator: str, x: Value, y: Value, bits: int
) -> Value:
    """The result of an arithmetic instruction; of no width for vectors."""
    if not bits:
        return _vector(ctx, s, operator, x, y)
    if isinstance(x, int):
        if isinstance(y, int):
            return _numbers(ctx, operator, x, y, bits)
        if operator in _COMMUTATIVE:
            x, y = y, x
    simple = _simplified(ctx, operator, x, y, bits)
    if simple is not None:
        return simple
    if s.objects and operator != "sub" and not _is_low_part(operator, y):
        _escape_object(ctx, s, x)
        _escape_object(ctx, s, y)
    return ctx.terms.symbol("bin", operator, x, y, bits)


def _simplified(
    ctx: Context, operator: str, x: Value, y: Value, bits: int
) -> Value | None:
    if isinstance(y, int):
        return _with_number(ctx, operator, x, y, bits)
    if isinstance(x, int) or operator != "sub" or x[0] != y[0]:
        return None
    if isinstance(x[1], int) and isinstance(y[1], int):
        return x[1] - y[1]
    return 0 if x == y else None


def _vector(ctx: Context, s: State, operator: str, *operands: Value) -> Value:
    """Several numbers at once, of which nothing is known."""
    for operand in operands:
        _escape_object(ctx, s, operand)
    return ctx.terms.symbol("vector", operator, *operands)


# An address cannot be had back from its lowest bits.
_PAGE_BYTES = 4096


def _is_low_part(operator: str, y: Value) -> bool:
    return operator in ("and", "urem") and isinstance(y, int) and 0 <= y < _PAGE_BYTES


def _escape_object(ctx: Context, s: State, value: Value) -> None:
    """An object's address is computed with: we no longer know who holds it."""
    if not isinstance(value, int) and ctx.terms.kinds[value[0]] != SYMBOL:
        memory.escape(ctx, s, value)


def _numbers(ctx: Context, operator: str, x: int, y: int, bits: int) -> Value:
    compute = _NUMBERS.get(operator)
    if compute is None and y != 0:
        compute = _DIVISIONS.get(operator)
    if compute is None:
        return ctx.terms.symbol("bin", operator, x, y, bits)
    return wrapped(compute(x, y, max(bits, 1)), bits)


def _with_number(
    ctx: Context, operator: str, x: Value, y: int, bits: int
) -> Value | None:
    if operator == "add":
        return moved(x, y)
    if operator == "sub":
        return moved(x, -y)
    if operator == "xor" and bits == 1 and y:
        return negation(ctx, x)
    if y == 0:
        if operator in _KEEPS_WITH_ZERO:
            return x
        if operator in ("and", "mul"):
            return 0
    if y == 1 and operator == "mul":
        return x
    return None


# Conversions between integers.
_WIDTHS = frozenset({"trunc", "zext", "sext"})


def cast(
    ctx: Context, s: State, operator: str, value: Value, bits: int, from_bits: int
) -> Value:
    """The result of a conversion; pointers count as 64 bits."""
    if operator in _WIDTHS and not (bits and from_bits):
        return _vector(ctx, s, operator, value)
    if isinstance(value, int):
        return _cast_number(operator, value, bits, from_bits, ctx)
    if operator in ("same", "ptrtoint", "inttoptr", "bitcast", "addrspacecast"):
        return value
    if operator == "trunc":
        return _truncated(ctx, s, value, bits, from_bits)
    if operator in ("zext", "sext"):
        return _extended(ctx, s, operator, value, bits, from_bits)
    _escape_object(ctx, s, value)
    return ctx.terms.symbol("cast", operator, value, bits, from_bits)


def _cast_number(
    operator: str, value: int, bits: int, from_bits: int, ctx: Context
) -> Value:
    if operator == "trunc":
        return unsigned(value, 1) if bits == 1 else wrapped(value, bits)
    if operator == "zext":
        return unsigned(value, from_bits)
    if operator == "sext":
        return -value if from_bits == 1 else value
    if operator in ("same", "ptrtoint", "inttoptr", "bitcast"):
        return value
    return ctx.terms.symbol("cast", operator, value, bits, from_bits)


def _truncated(
    ctx: Context, s: State, value: tuple[int, object], bits: int, from_bits: int
) -> Value:
    base = value[0]
    if ctx.terms.kinds[base] != SYMBOL:
        memory.escape(ctx, s, (base, 0))
        return ctx.terms.symbol("cast", "trunc", value, bits, from_bits)
    if bits == 1:
        if ctx.terms.truth(base) and value[1] == 0:
            return base, 0
        return ctx.terms.symbol("cast", "trunc", value, bits, from_bits)
    key = ctx.terms.keys[base]
    if (
        value[1] == 0
        and key[0] == "cast"
        and key[1] in ("zext", "sext")
        and (key[4] == bits)
    ):
        inner: Value = key[2]
        return inner
    known = value_range(ctx, s, value)  # type: ignore[arg-type]  # a symbol's value
    if -(1 << (bits - 1)) <= known[0] and known[1] < 1 << (bits - 1):
        return value  # type: ignore[return-value]  # a symbol's value
    return ctx.terms.symbol("cast", "trunc", value, bits, from_bits)


def _extended(
    ctx: Context,
    s: State,
    operator: str,
    value: tuple[int, object],
    bits: int,
    from_bits: int,
) -> Value:
    whole: Value = value  # type: ignore[assignment]  # a symbol's value
    if from_bits == 1:
        if operator == "zext":
            return whole
        return ctx.terms.symbol("cast", operator, whole, bits, from_bits)
    if operator == "sext" or value_range(ctx, s, whole)[0] >= 0:
        return whole
    return ctx.terms.symbol("cast", operator, whole, bits, from_bits)


def indexed(ctx: Context, s: State, value: Value, index: Value, scale: int) -> Value:
    """The address of an element: so many times `scale` bytes from the value."""
    if isinstance(index, int):
        return moved(value, index * scale)
    if isinstance(value, int):
        return binary(ctx, s, "add", value, index, _POINTER_BITS)
    offset: Offset = value[1]
    if isinstance(offset, int):
        if not isinstance(index[1], int):
            return value[0], (offset, index, scale)
        # i + 1 and i share a base, so that their places compare.
        return value[0], (offset + index[1] * scale, (index[0], 0), scale)
    sum_ = ctx.terms.symbol("indices", offset[1], offset[2], index, scale)
    return value[0], (offset[0], sum_, 1)
