"""What is known of a symbol's number: bounds and excluded numbers."""

from typing import TypeAlias

# Beyond all numbers of 64 bits, signed or not.
UNBOUNDED = 1 << 64

# (lowest, highest, excluded numbers between them or None)
Range: TypeAlias = tuple[int, int, frozenset[int] | None]

ANY: Range = (-UNBOUNDED, UNBOUNDED, None)
TRUTH: Range = (0, 1, None)
NON_NULL: Range = (1, UNBOUNDED, None)

# Beyond this, excluded numbers say too little to be worth carrying.
MOST_EXCLUDED = 24


def narrowed(known: Range, other: Range) -> Range | None:
    """Both hold; None when that is impossible."""
    low = max(known[0], other[0])
    high = min(known[1], other[1])
    excluded = known[2]
    if other[2] is not None:
        excluded = other[2] if excluded is None else excluded | other[2]
    if excluded is not None:
        while low in excluded:
            low += 1
        while high in excluded:
            high -= 1
        excluded = _between(excluded, low, high)
    return None if low > high else (low, high, excluded)


def without(known: Range, number: int) -> Range | None:
    """The range with one number excluded; None when nothing is left."""
    return narrowed(known, (-UNBOUNDED, UNBOUNDED, frozenset((number,))))


def hull(left: Range, right: Range) -> Range:
    """The smallest range that holds all of both."""
    low = min(left[0], right[0])
    high = max(left[1], right[1])
    candidates = (left[2] or frozenset()) | (right[2] or frozenset()) | {0}
    excluded = frozenset(
        number
        for number in candidates
        if low < number < high
        and not contains(left, number)
        and not contains(right, number)
    )
    return low, high, excluded or None


def contains(known: Range, number: int) -> bool:
    """Whether the number is possible."""
    if number < known[0] or number > known[1]:
        return False
    return known[2] is None or number not in known[2]


def shifted(known: Range, distance: int) -> Range:
    """The range of the number plus a distance."""
    if distance == 0:
        return known
    low = known[0] if known[0] <= -UNBOUNDED else known[0] + distance
    high = known[1] if known[1] >= UNBOUNDED else known[1] + distance
    excluded = known[2]
    if excluded is not None:
        excluded = frozenset(number + distance for number in excluded)
    return low, high, excluded


def _between(excluded: frozenset[int], low: int, high: int) -> frozenset[int] | None:
    inside = [number for number in excluded if low < number < high]
    if not inside:
        return None
    return frozenset(sorted(inside, key=abs)[:MOST_EXCLUDED])
