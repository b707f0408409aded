"""Names for people: variables, fields, and conditions as the source spells them."""

from leakline.static.engine.context import Context
from leakline.static.engine.ranges import UNBOUNDED, Range
from leakline.static.engine.values import Value
from leakline.static.facts import Field, SourceType
from leakline.static.models.language import source_name

_UNKNOWN_TYPE = -1
_LONGEST_TEXT = 60


def variable_name(ctx: Context, variable: int) -> str:
    """The name of a source variable."""
    return ctx.body.variables[variable].name


def slot_name(ctx: Context, pointer: tuple[int, object]) -> str | None:
    """The place that a pointer names, such as `list->head`; None without a name."""
    found = _object(ctx, pointer[0])
    if found is None or not isinstance(pointer[1], int):
        return None if found is None else f"{found[0]}[...]"
    text, type_ = found
    if ctx.terms.keys[pointer[0]][0] in ("frame", "global"):
        return text + _field(ctx, type_, pointer[1], ".")[0]
    return _through(ctx, text, type_, pointer[1])[0]


def spoken(ctx: Context, value: Value) -> str | None:
    """A value in the words of the source; None when it has none."""
    if isinstance(value, int):
        return str(value)
    base, offset = value
    text = _spoken_base(ctx, base)
    if text is None or not isinstance(offset, int) or offset == 0:
        return text
    return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"


def _spoken_base(ctx: Context, base: int) -> str | None:
    key = ctx.terms.keys[base]
    match key[0]:
        case "eq" | "slt" | "ult" as predicate:
            return _comparison(ctx, predicate, key[1], key[2])
        case "not":
            inner = spoken(ctx, key[1])
            return None if inner is None else f"!({inner})"
        case "bin" | "cast" | "select":
            return _expression(ctx, key)
        case "pure":
            return f"{key[1]}(...)"
        case _:
            found = _object(ctx, base)
            return None if found is None else found[0]


_SIGNS = {"and": "&", "or": "|", "add": "+", "sub": "-", "mul": "*", "xor": "^"}


def _expression(ctx: Context, key: tuple[object, ...]) -> str | None:
    if key[0] == "cast":
        return spoken(ctx, key[2])  # type: ignore[arg-type]  # a value by its key
    sign = _SIGNS.get(str(key[1]))
    if key[0] != "bin" or sign is None:
        return None
    left = spoken(ctx, key[2])  # type: ignore[arg-type]  # a value by its key
    right = spoken(ctx, key[3])  # type: ignore[arg-type]  # a value by its key
    if left is None or right is None or len(left) + len(right) > _LONGEST_TEXT:
        return None
    return f"({left} {sign} {right})"


def _comparison(ctx: Context, predicate: str, x: Value, y: Value) -> str | None:
    left, right = spoken(ctx, x), spoken(ctx, y)
    if left is None or right is None:
        return None
    return f"{left} {'==' if predicate == 'eq' else '<'} {right}"


def condition_words(ctx: Context, condition: Value, *, truth: bool) -> str:
    """A condition that was taken as true or false; empty without a name."""
    if isinstance(condition, int):
        return ""
    key = ctx.terms.keys[condition[0]]
    if key[0] == "not":
        return condition_words(ctx, key[1], truth=not truth)
    if key[0] in ("eq", "slt", "ult"):
        return _compared_words(ctx, key, truth=truth)
    text = spoken(ctx, condition)
    if text is None:
        return ""
    return f"{text} is {'not 0' if truth else '0'}"


_TRUE = {"eq": "==", "slt": "<", "ult": "<"}
_FALSE = {"eq": "!=", "slt": ">=", "ult": ">="}
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">=": "<="}


def _compared_words(ctx: Context, key: tuple[object, ...], *, truth: bool) -> str:
    x: Value = key[1]  # type: ignore[assignment]  # a value by its key
    y: Value = key[2]  # type: ignore[assignment]  # a value by its key
    sign = (_TRUE if truth else _FALSE)[str(key[0])]
    if isinstance(x, int):
        x, y, sign = y, x, _SWAPPED[sign]
    left, right = spoken(ctx, x), spoken(ctx, y)
    if left is None or right is None:
        return ""
    return f"{left} {sign} {right}"


def range_words(text: str, known: Range) -> str:
    """What a range says about a named value."""
    low, high, excluded = known
    if low == high:
        return f"{text} is {low}"
    if excluded and low <= -UNBOUNDED and high >= UNBOUNDED:
        return f"{text} is not {', '.join(map(str, sorted(excluded)))}"
    if low == 1 and high >= UNBOUNDED:
        return f"{text} is not null"
    if low > -UNBOUNDED and high < UNBOUNDED:
        return f"{text} is {low} to {high}"
    if low > -UNBOUNDED:
        return f"{text} is at least {low}"
    return f"{text} is at most {high}"


def _object(ctx: Context, base: int) -> tuple[str, int] | None:
    """The text and type of what a base stands for."""
    key = ctx.terms.keys[base]
    match key[0]:
        case "arg":
            return _parameter(ctx, key[1])
        case "cell":
            return _cell(ctx, key)
        case "frame":
            return ctx.flow.names.get(key[1])
        case "global":
            return _global(ctx, base, key[1])
        case "join" | "widen":
            place = key[2]
            return ctx.flow.names.get(place) if isinstance(place, int) else None
        case "result":
            return ctx.flow.names.get(key[2]) or _called(key)
        case "callee" if key[4] in ("result", ("new", "result")):
            return ctx.flow.names.get(key[2])
        case "heap":
            return ctx.flow.names.get(key[1][1])
        case _:
            return None


def _called(key: tuple[object, ...]) -> tuple[str, int] | None:
    return (
        (f"{source_name(key[3])}()", _UNKNOWN_TYPE) if isinstance(key[3], str) else None
    )


def _parameter(ctx: Context, index: int) -> tuple[str, int] | None:
    parameters = ctx.function.declaration.parameters
    if index >= len(parameters) or not parameters[index].name:
        return None
    return parameters[index].name, parameters[index].type


def _global(ctx: Context, base: int, name: str) -> tuple[str, int]:
    variable = ctx.globals.get(base)
    return name.partition("@")[0], _UNKNOWN_TYPE if variable is None else variable.type


def _cell(ctx: Context, key: tuple[object, ...]) -> tuple[str, int] | None:
    base: int = key[1]  # type: ignore[assignment]  # a base by its key
    found = _object(ctx, base)
    if found is None or not isinstance(key[2], int):
        return None
    if ctx.terms.keys[base][0] in ("frame", "global"):
        text, type_ = _field(ctx, found[1], key[2], ".")
        return found[0] + text, type_
    return _through(ctx, found[0], found[1], key[2])


def _through(ctx: Context, text: str, type_: int, offset: int) -> tuple[str, int]:
    """What a pointer leads to at an offset."""
    known = _type(ctx, type_)
    target = known.target if known is not None and known.kind == "pointer" else -1
    field, inner = _field(ctx, target, offset, "->")
    if field:
        return text + field, inner
    return (f"*{text}" if offset == 0 else f"{text}[...]"), target


def _field(ctx: Context, type_: int, offset: int, sign: str) -> tuple[str, int]:
    """The field at an offset, with its sign; empty when the type has none."""
    known = _type(ctx, type_)
    if known is None or known.kind not in ("struct", "union"):
        return "", type_
    best = None
    for field in known.fields:
        if field.offset_bits <= offset * 8 and field.name:
            if (
                known.kind == "union"
                and best is not None
                and _covers(ctx, best, offset)
            ):
                break
            best = field
    if best is None:
        return "", type_
    inner, inner_type = _field(ctx, best.type, offset - best.offset_bits // 8, ".")
    return f"{sign}{best.name}{inner}", inner_type


def _covers(ctx: Context, field: Field, offset: int) -> bool:
    known = _type(ctx, field.type)
    if known is None or known.bytes < 0:
        return True
    return offset * 8 < field.offset_bits + known.bytes * 8


def _type(ctx: Context, index: int) -> SourceType | None:
    return ctx.unit.types[index] if 0 <= index < len(ctx.unit.types) else None
