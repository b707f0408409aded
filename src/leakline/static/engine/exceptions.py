"""C++ exceptions: who throws, which way they go, and which handlers take them.

Only exceptions that a `throw` of the program raises are followed. Functions without
source are taken not to throw: nearly every path would otherwise have a second end.
"""

import re

from leakline.static.engine.context import Context
from leakline.static.engine.findings import Event, record
from leakline.static.engine.state import State
from leakline.static.engine.values import GLOBAL, Value

_TYPE_OF_THROW = 1
# Types that nothing derives from: numbers and pointers.
_PLAIN_TYPE = re.compile(r"_ZTI[a-z]$|_ZTIP")


def throws(ctx: Context, s: State, callee: object, values: list[Value]) -> bool:
    """Whether a call raises an exception; the state is then on its way."""
    if callee == "__cxa_throw":
        s.thrown = values[_TYPE_OF_THROW]
    elif callee != "__cxa_rethrow":
        return False
    record(ctx, s, Event("thrown", ctx.here))
    begin(ctx, s)
    return True


def begin(ctx: Context, s: State) -> None:
    """The state leaves its function, or goes on at a landing pad."""
    s.unwinding = True
    ctx.unwound = True


def landing(ctx: Context, s: State, result: int) -> Value:
    """What a landing pad receives: it names the exception's type."""
    return ctx.terms.symbol("landing", result, s.thrown, s.epoch)


def handler_type(ctx: Context, callee: object, values: list[Value]) -> Value | None:
    """The number of a handler's type, for the question whether it takes an exception."""
    if callee != "llvm.eh.typeid.for":
        return None
    return ctx.terms.symbol("typeid", values[0])


def handled(ctx: Context, left: Value, right: Value) -> bool | None:
    """Whether a handler takes an exception; None when that is not the question.

    In doubt it does: the handler may be for a base of the exception's class.
    """
    thrown, caught = _thrown_type(ctx, left), _handler(ctx, right)
    if caught is None:
        thrown, caught = _thrown_type(ctx, right), _handler(ctx, left)
    if thrown is None or caught is None:
        return None
    if thrown in (caught, _UNKNOWN):
        return True
    return not (_is_plain(ctx, thrown) or _is_plain(ctx, caught))


_UNKNOWN: Value = -1


def _thrown_type(ctx: Context, value: Value) -> Value | None:
    if isinstance(value, int):
        return None
    key = ctx.terms.keys[value[0]]
    if key[0] != "extract" or isinstance(key[1], int):
        return None
    aggregate = ctx.terms.keys[key[1][0]]
    if aggregate[0] != "landing":
        return None
    return _UNKNOWN if aggregate[2] is None else aggregate[2]


def _handler(ctx: Context, value: Value) -> Value | None:
    if isinstance(value, int):
        return None
    key = ctx.terms.keys[value[0]]
    found: Value | None = key[1] if key[0] == "typeid" else None
    return found


def _is_plain(ctx: Context, value: Value) -> bool:
    if isinstance(value, int) or ctx.terms.kinds[value[0]] != GLOBAL:
        return False
    return bool(_PLAIN_TYPE.match(ctx.terms.keys[value[0]][1]))
