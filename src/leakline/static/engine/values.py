"""Values of the walk: a number, or a base plus an offset in bytes.

A *base* is the number of a term in a `Terms` table: an object (heap, frame, global,
code) whose address it is, or a symbol that stands for an unknown number or address.
Terms are hash-consed, so equal terms have equal numbers and values compare cheaply.
"""

from typing import Any, TypeAlias

# An offset that depends on an index is (constant, index value, scale in bytes).
Offset: TypeAlias = int | tuple[int, "Value", int]
Value: TypeAlias = int | tuple[int, Offset]

# What a term is. Plain numbers: they are compared millions of times.
SYMBOL, HEAP, STACK, GLOBAL, CODE = range(5)

# A term's key: its tag, then what makes it different from others with this tag.
#   arg i                            the i-th argument at entry
#   cell base offset version         what memory held there at entry (version 0) or
#                                    after it was changed in an unknown way
#   eq, slt, ult left right          a comparison; not value
#   bin operator left right bits     arithmetic; cast operator value bits from_bits
#   any other tag                    unknown, told apart by the rest of the key
Key: TypeAlias = tuple[Any, ...]

# Ids of the C library's variables that always hold an open stream.
STREAMS = frozenset({"stdin", "stdout", "stderr"})
_STREAM_KEYS = frozenset(("global", name) for name in STREAMS)

COMPARISONS = frozenset({"eq", "slt", "ult"})
TRUTHS = COMPARISONS | {"not"}


class Terms:
    """The terms of one function's walk."""

    __slots__ = ("_numbers", "keys", "kinds")

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.kinds: list[int] = []
        self._numbers: dict[Key, int] = {}

    def base(self, kind: int, key: Key) -> int:
        """The number of this term, new or known."""
        number = self._numbers.get(key)
        if number is None:
            number = len(self.keys)
            self._numbers[key] = number
            self.keys.append(key)
            self.kinds.append(kind)
        return number

    def known(self, key: Key) -> int | None:
        """The number of this term if it exists."""
        return self._numbers.get(key)

    def symbol(self, *key: Any) -> tuple[int, int]:  # noqa: ANN401  # see Key
        """An unknown value told apart by its key."""
        return self.base(SYMBOL, key), 0

    def truth(self, base: int) -> bool:
        """Whether the term is 0 or 1 by its nature."""
        return self.keys[base][0] in TRUTHS

    def is_stream(self, base: int) -> bool:
        """Whether the symbol is what `stdout` or one of its like holds."""
        key = self.keys[base]
        return key[0] == "cell" and self.keys[key[1]] in _STREAM_KEYS

    def ancestors(self, base: int) -> list[int]:
        """The objects whose initial memory this symbol was read from, nearest first."""
        found: list[int] = []
        key = self.keys[base]
        while key[0] == "cell":
            found.append(key[1])
            key = self.keys[key[1]]
        return found


def moved(value: Value, distance: int) -> Value:
    """The value plus a number of bytes."""
    if isinstance(value, int):
        return value + distance
    offset = value[1]
    if isinstance(offset, int):
        return value[0], offset + distance
    return value[0], (offset[0] + distance, offset[1], offset[2])
