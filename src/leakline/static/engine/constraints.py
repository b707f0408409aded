"""Comparisons: deciding them from ranges, and learning ranges from branches."""

from leakline.static.engine.context import Context
from leakline.static.engine.ranges import (
    ANY,
    NON_NULL,
    TRUTH,
    UNBOUNDED,
    Range,
    contains,
    narrowed,
    shifted,
)
from leakline.static.engine.state import State
from leakline.static.engine.values import (
    COMPARISONS,
    HEAP,
    SYMBOL,
    TRUTHS,
    Key,
    Value,
)

_POINTER_BITS = 64
# Sums of sums double what there is to look at with each level.
_MOST_NESTED = 3
_UNSIGNED = (1 << 64) - 1
# Objects lie neither in the null page nor where calls report errors, such as -1.
_FIRST_ADDRESS = 4096

# Each predicate as one of eq, slt, ult: (predicate, operands swapped, negated).
_CANONICAL = {
    "eq": ("eq", False, False),
    "ne": ("eq", False, True),
    "slt": ("slt", False, False),
    "sgt": ("slt", True, False),
    "sge": ("slt", False, True),
    "sle": ("slt", True, True),
    "ult": ("ult", False, False),
    "ugt": ("ult", True, False),
    "uge": ("ult", False, True),
    "ule": ("ult", True, True),
}


# Symbols that exist before the function runs differ from whatever it allocates.
_OLDER_THAN_FRESH = frozenset({"arg", "cell"})


def compare(ctx: Context, s: State, predicate: str, x: Value, y: Value) -> Value:
    """The truth value of a comparison: 0, 1, or a term."""
    name, swapped, negated = _CANONICAL[predicate]
    if swapped:
        x, y = y, x
    known = _decide(ctx, s, name, x, y)
    if known is not None:
        return int(known != negated)
    if name == "eq":
        if isinstance(x, int):
            x, y = y, x
        if isinstance(y, int) and not isinstance(x, int) and x[1] == 0:
            simple = _truth_compared(ctx, x, y)
            if simple is not None:
                return negation(ctx, simple) if negated else simple
    term = ctx.terms.symbol(name, x, y)
    return negation(ctx, term) if negated else term


def _truth_compared(ctx: Context, x: tuple[int, object], y: int) -> Value | None:
    if not ctx.terms.truth(x[0]) or y not in (0, 1):
        return None
    same = (x[0], 0)
    return same if y else negation(ctx, same)


def negation(ctx: Context, value: Value) -> Value:
    """Logical not of a truth value."""
    if isinstance(value, int):
        return 1 - value
    key = ctx.terms.keys[value[0]]
    return key[1] if key[0] == "not" else ctx.terms.symbol("not", value)


def is_null(ctx: Context, s: State, value: Value) -> bool | None:
    """Whether the value is zero; None when both are possible."""
    return _decide(ctx, s, "eq", value, 0)


def range_of(ctx: Context, s: State, base: int) -> Range:
    """What is known of a base's number."""
    known = s.ranges.get(base)
    if known is not None:
        return known
    if ctx.terms.kinds[base] != SYMBOL or base in s.pointed:
        return NON_NULL
    if ctx.terms.is_stream(base):
        return NON_NULL
    key = ctx.terms.keys[base]
    if key[:2] == ("bin", "add"):
        return _sum(ctx, s, key, _MOST_NESTED)
    return _natural_range(key[0], key)


def _sum(ctx: Context, s: State, key: Key, levels: int) -> Range:
    """What is known of a sum; of sums in it, so many levels are looked into."""
    if not levels:
        return ANY
    left, right = (_summand(ctx, s, value, levels - 1) for value in key[2:4])
    return _sum_range(left, right, key[4])


def _summand(ctx: Context, s: State, value: Value, levels: int) -> Range:
    if isinstance(value, int) or value[0] in s.ranges:
        return value_range(ctx, s, value)
    key = ctx.terms.keys[value[0]]
    if key[:2] != ("bin", "add") or not isinstance(value[1], int):
        return value_range(ctx, s, value)
    return shifted(_sum(ctx, s, key, levels), value[1])


def _sum_range(left: Range, right: Range, bits: int) -> Range:
    """Sizes add up: wide numbers that are not negative do not wrap around."""
    high = min(left[1] + right[1], UNBOUNDED)
    is_wide = bits == _POINTER_BITS or high < 1 << (bits - 1)
    if left[0] < 0 or right[0] < 0 or not is_wide:
        return ANY
    return left[0] + right[0], high, None


def _natural_range(tag: str, key: tuple[object, ...]) -> Range:
    if tag in TRUTHS:
        return TRUTH
    if tag == "bin" and key[1] == "and" and isinstance(key[3], int) and key[3] >= 0:
        return 0, key[3], None
    if tag == "cast" and key[1] == "zext" and isinstance(key[4], int):
        return 0, (1 << key[4]) - 1, None
    return ANY


def value_range(ctx: Context, s: State, value: Value) -> Range:
    """What is known of a value's number."""
    if isinstance(value, int):
        return value, value, None
    base, offset = value
    if ctx.terms.kinds[base] != SYMBOL:
        return NON_NULL
    if not isinstance(offset, int):
        return ANY
    return shifted(range_of(ctx, s, base), offset)


def _decide(ctx: Context, s: State, name: str, x: Value, y: Value) -> bool | None:
    if isinstance(x, int) and isinstance(y, int):
        if name == "eq":
            return x == y
        return x < y if name == "slt" else (x & _UNSIGNED) < (y & _UNSIGNED)
    if name == "eq":
        if isinstance(x, int):
            x, y = y, x
        return _decide_equal(ctx, s, x, y)  # type: ignore[arg-type]  # x is not int now
    if x == y:
        return False
    return _decide_less(ctx, s, name, x, y)


def _decide_equal(
    ctx: Context, s: State, x: tuple[int, object], y: Value
) -> bool | None:
    base, offset = x
    if isinstance(y, int):
        return _decide_number(ctx, s, base, offset, y)
    if base == y[0]:
        if isinstance(offset, int) and isinstance(y[1], int):
            return offset == y[1]
        return True if offset == y[1] else None
    if _different_objects(ctx, base, y[0]):
        return False
    return _recorded(ctx, s, "eq", x, y)


def _decide_number(
    ctx: Context, s: State, base: int, offset: object, number: int
) -> bool | None:
    if ctx.terms.kinds[base] != SYMBOL:
        return False if abs(number) < _FIRST_ADDRESS else None
    if not isinstance(offset, int):
        return None
    known = range_of(ctx, s, base)
    wanted = number - offset
    if not contains(known, wanted):
        return False
    return True if known[0] == known[1] else None


def _different_objects(ctx: Context, left: int, right: int) -> bool:
    kinds = ctx.terms.kinds
    if kinds[left] != SYMBOL and kinds[right] != SYMBOL:
        return True
    if kinds[left] == HEAP:
        return ctx.terms.keys[right][0] in _OLDER_THAN_FRESH
    if kinds[right] == HEAP:
        return ctx.terms.keys[left][0] in _OLDER_THAN_FRESH
    return False


def _decide_less(ctx: Context, s: State, name: str, x: Value, y: Value) -> bool | None:
    left = value_range(ctx, s, x)
    right = value_range(ctx, s, y)
    if name == "ult" and (left[0] < 0 or right[0] < 0):
        return False if y == 0 else _recorded(ctx, s, name, x, y)
    if left[1] < right[0]:
        return True
    if left[0] >= right[1]:
        return False
    if not isinstance(x, int) and not isinstance(y, int) and x[0] == y[0]:
        if isinstance(x[1], int) and isinstance(y[1], int):
            return x[1] < y[1]
        return None
    return _recorded(ctx, s, name, x, y)


def _recorded(ctx: Context, s: State, name: str, x: object, y: object) -> bool | None:
    """What an earlier branch on the same comparison said."""
    base = ctx.terms.known((name, x, y))
    if base is None and name == "eq":
        base = ctx.terms.known((name, y, x))
    if base is not None:
        known = s.ranges.get(base)
        if known is not None and known[0] == known[1]:
            return known[0] != 0
    return None


def assume(ctx: Context, s: State, value: Value, *, truth: bool) -> bool:
    """Learn that the value is (not) zero; False when that is impossible."""
    if isinstance(value, int):
        return (value != 0) == truth
    base, offset = value
    if ctx.terms.kinds[base] != SYMBOL:
        return truth
    if not isinstance(offset, int):
        return True
    key = ctx.terms.keys[base]
    if offset == 0 and key[0] in COMPARISONS:
        return _assume_comparison(ctx, s, base, truth=truth)
    if offset == 0 and key[0] == "not":
        return assume(ctx, s, key[1], truth=not truth)
    if truth:
        return refine(ctx, s, base, (*ANY[:2], frozenset((-offset,))))
    return refine(ctx, s, base, (-offset, -offset, None))


def _assume_comparison(ctx: Context, s: State, base: int, *, truth: bool) -> bool:
    known = s.ranges.get(base)
    if known is not None and known[0] == known[1]:
        return (known[0] != 0) == truth
    name, x, y = ctx.terms.keys[base]
    decided = _decide(ctx, s, name, x, y)
    if decided is not None:
        return decided == truth
    if not _learn(ctx, s, name, x, y, truth=truth):
        return False
    if name == "ult" or not (isinstance(x, int) or isinstance(y, int)):
        s.writable_ranges()[base] = (1, 1, None) if truth else (0, 0, None)
    return True


def _learn(
    ctx: Context, s: State, name: str, x: Value, y: Value, *, truth: bool
) -> bool:
    if name == "eq":
        if isinstance(x, int):
            x, y = y, x
        return constrain(ctx, s, x, _equal_range(ctx, s, y, truth=truth)) and (
            not truth or constrain(ctx, s, y, value_range(ctx, s, x))
        )
    if name == "ult":
        return _learn_unsigned(ctx, s, x, y, truth=truth)
    left, right = value_range(ctx, s, x), value_range(ctx, s, y)
    if truth:
        return constrain(ctx, s, x, (-UNBOUNDED, _below(right[1]), None)) and constrain(
            ctx, s, y, (_above(left[0]), UNBOUNDED, None)
        )
    return constrain(ctx, s, x, (right[0], UNBOUNDED, None)) and constrain(
        ctx, s, y, (-UNBOUNDED, left[1], None)
    )


def _below(bound: int) -> int:
    return bound if bound >= UNBOUNDED else bound - 1


def _above(bound: int) -> int:
    return bound if bound <= -UNBOUNDED else bound + 1


def _equal_range(ctx: Context, s: State, y: Value, *, truth: bool) -> Range:
    if truth:
        return value_range(ctx, s, y)
    if isinstance(y, int):
        return -UNBOUNDED, UNBOUNDED, frozenset((y,))
    return ANY


def _learn_unsigned(ctx: Context, s: State, x: Value, y: Value, *, truth: bool) -> bool:
    left, right = value_range(ctx, s, x), value_range(ctx, s, y)
    if truth and right[0] >= 0:
        return constrain(ctx, s, x, (0, _below(right[1]), None))
    if truth and x == 0:
        return constrain(ctx, s, y, (-UNBOUNDED, UNBOUNDED, frozenset((0,))))
    if not truth and x == 0:
        return constrain(ctx, s, y, (0, 0, None))
    if not truth and left[0] >= 0 and left[1] < UNBOUNDED:
        return constrain(ctx, s, y, (0, left[1], None))
    if not truth and left[0] >= 0 and right[0] >= 0:
        return constrain(ctx, s, x, (right[0], UNBOUNDED, None))
    return True


def constrain(ctx: Context, s: State, value: Value, allowed: Range) -> bool:
    """Learn that the value lies in the range; False when that is impossible."""
    if allowed is ANY:
        return True
    if isinstance(value, int):
        return contains(allowed, value)
    base, offset = value
    if ctx.terms.kinds[base] != SYMBOL:
        return allowed[1] > 0
    if not isinstance(offset, int):
        return True
    return refine(ctx, s, base, shifted(allowed, -offset))


def refine(ctx: Context, s: State, base: int, allowed: Range) -> bool:
    """Learn that a symbol lies in the range; False when that is impossible."""
    known = range_of(ctx, s, base)
    both = narrowed(known, allowed)
    if both is None:
        return False
    if both == known:
        return True
    s.writable_ranges()[base] = both
    key = ctx.terms.keys[base]
    tag = key[0]
    if tag in TRUTHS:
        return _truth_refined(ctx, s, base, both)
    if tag == "cast" and key[1] in ("zext", "sext") and both[0] == both[1]:
        return constrain(ctx, s, key[2], _before_extension(both[0], key[4]))
    if tag == "cast" and key[1] in ("zext", "sext") and not contains(both, 0):
        return constrain(ctx, s, key[2], (-UNBOUNDED, UNBOUNDED, frozenset((0,))))
    return True


def _truth_refined(ctx: Context, s: State, base: int, both: Range) -> bool:
    if both[0] != both[1]:
        return True
    del s.writable_ranges()[base]
    return assume(ctx, s, (base, 0), truth=both[0] != 0)


def _before_extension(number: int, bits: int) -> Range:
    number &= (1 << bits) - 1
    if bits > 1 and number >> (bits - 1):
        number -= 1 << bits
    return number, number, None
