"""Names that mean the same to a function and to its callers."""

from leakline.static.engine.context import Context
from leakline.static.engine.summary import Label, Name, NamedValue
from leakline.static.engine.values import CODE, GLOBAL, HEAP, SYMBOL, Value

# Deeper access paths and larger expressions are not worth naming.
_DEEPEST = 4
_EXPRESSIONS = frozenset({"eq", "slt", "ult", "not", "bin", "cast"})


def nameable(ctx: Context, base: int, depth: int = 0) -> bool:
    """Whether callers can find what the base stands for in their own state."""
    kind = ctx.terms.kinds[base]
    if kind in (GLOBAL, CODE):
        return True
    if kind != SYMBOL or depth > _DEEPEST:
        return False
    key = ctx.terms.keys[base]
    if key[0] == "arg":
        return True
    if key[0] == "cell":
        return (
            key[3] == 0 and isinstance(key[2], int) and nameable(ctx, key[1], depth + 1)
        )
    if key[0] in _EXPRESSIONS:
        return all(
            _nameable_value(ctx, part, depth + 1)
            for part in key[1:]
            if isinstance(part, tuple)
        )
    return False


def _nameable_value(ctx: Context, value: Value, depth: int) -> bool:
    if isinstance(value, int):
        return True
    return isinstance(value[1], int) and nameable(ctx, value[0], depth)


class Namer:
    """Gives names to the values of one state.

    Attributes:
        heap: Bases of the heap objects named so far; their place is their number.
        unknown: Bases of unknown values named so far, with their labels.
        label: For the next unknown value: the place where it is met first, so that
            it is called the same in every disjunct.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.heap: list[int] = []
        self.unknown: dict[int, Label] = {}
        self.label: Label = "result"

    def value(self, value: Value) -> NamedValue:
        """The name of a value."""
        if isinstance(value, int):
            return value
        base, offset = value
        if isinstance(offset, int):
            return self.base(base), offset
        if self._ctx.terms.kinds[base] in (HEAP, GLOBAL) or nameable(self._ctx, base):
            constant, index, scale = offset
            return self.base(base), (constant, self.value(index), scale)
        return ("new", self._label(base)), 0

    def base(self, base: int) -> Name:
        """The name of a base."""
        kind = self._ctx.terms.kinds[base]
        if kind == HEAP:
            if base not in self.heap:
                self.heap.append(base)
            return "heap", self.heap.index(base)
        if kind in (GLOBAL, CODE):
            return self._ctx.terms.keys[base]
        if not nameable(self._ctx, base):
            return "new", self._label(base)
        return self._symbol(self._ctx.terms.keys[base])

    def _symbol(self, key: Name) -> Name:
        if key[0] == "arg":
            return key
        if key[0] == "cell":
            return "cell", self.base(key[1]), key[2]
        return tuple(self.value(p) if isinstance(p, tuple) else p for p in key)

    def _label(self, base: int) -> Label:
        known = self.unknown.get(base)
        if known is None:
            known = self.label
            if known in self.unknown.values():
                known = ("also", known, len(self.unknown))
            self.unknown[base] = known
        return known
