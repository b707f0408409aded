"""The language for modelling library functions, one line for each group of functions.

    NAME... { BEHAVIOUR; BEHAVIOUR ... }        # comment

It holds the language of Xu and Zhang (`ignored`, `return heapobj`, `return int`,
`return pointer`, `return @1`) and adds families of release functions, results through
arguments, failure, and what happens to arguments. docs/models.md explains each word.
Arguments count from @1, and are kept from 0 here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from leakline.errors import CheckError


class Result(Enum):
    """What a function returns."""

    NOTHING_KNOWN = "int"
    POINTER = "pointer"
    NON_NULL = "nonnull"
    HEAP = "heapobj"
    ARGUMENT = "argument"
    INTO_ARGUMENT = "into"
    NUMBER = "number"
    SIZE = "size"


class Success(Enum):
    """Which results say that a function did its work."""

    ALWAYS = "always"
    ZERO = "zero"
    NON_NEGATIVE = "nonnegative"
    POSITIVE = "positive"
    NON_ZERO = "nonzero"


@dataclass(frozen=True, slots=True)
class Owned:
    """An object given to the caller.

    Attributes:
        argument: Where it is written (`*@n = heapobj`), or -1 for the result.
        family: The release function that names the family.
        sizes: Arguments whose product is the size in bytes; none when unknown.
        unless_argument: An argument that is used instead when it is not null, or -1.
        may_be_null: Failure is common enough that callers must expect it.
    """

    argument: int
    family: str
    zeroed: bool = False
    sizes: tuple[int, ...] = ()
    unless_argument: int = -1
    may_be_null: bool = False


@dataclass(frozen=True, slots=True)
class Freed:
    """An argument that is released, by a function of this family."""

    argument: int
    family: str


@dataclass(frozen=True, slots=True)
class Resized:
    """An argument that is resized and returned, or allocated when it is null.

    Attributes:
        family: The release function that names the family.
        sizes: Arguments whose product is the new size in bytes; none when unknown.
    """

    argument: int
    family: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """One library function.

    Attributes:
        result_argument: For results that are, or point into, an argument.
        number: For a result that is always this number.
        least: For a number that is never less than this; None when it may be.
        or_null: A result into an argument may also be null.
        grows: Arguments whose pointee is allocated when null, else resized in place.
        writes: Arguments whose pointee's bytes are overwritten.
        writes_from: All arguments from this one on are written to, or -1.
        keeps: Arguments kept by the library.
        copies: (destination, source, length) arguments of a memory copy.
        calls: Arguments that are called.
        pure: The result depends on the arguments and what they point to, only.
        asked_for: A user wrote it: it counts even where the source is there.
    """

    name: str
    result: Result = Result.NOTHING_KNOWN
    result_argument: int = -1
    number: int = 0
    least: int | None = None
    or_null: bool = False
    owned: tuple[Owned, ...] = ()
    frees: tuple[Freed, ...] = ()
    grows: tuple[int, ...] = ()
    resizes: Resized | None = None
    writes: tuple[int, ...] = ()
    writes_from: int = -1
    keeps: tuple[int, ...] = ()
    copies: tuple[int, int, int] | None = None
    calls: tuple[int, ...] = ()
    success: Success = Success.ALWAYS
    pure: bool = False
    noreturn: bool = False
    asked_for: bool = False

    @property
    def allocates(self) -> bool:
        """Whether it gives a new object to its caller, or resizes one."""
        return bool(self.owned or self.grows or self.resizes)

    @property
    def release(self) -> str:
        """The function that releases what it allocates."""
        if self.resizes:
            return self.resizes.family
        return self.owned[0].family if self.owned else DEFAULT_FAMILY


DEFAULT_FAMILY = "free"

# What headers of the C library put before functions that newer standards changed.
_RENAMED = re.compile(r"^__isoc\d+_")

_LINE = re.compile(r"^(?P<names>[\w:.$* ]+?)\s*\{(?P<behaviours>[^{}]*)\}$")
_WORD = r"(?:\s+(?P<family>(?!or\b|zeroed\b|size\b|unless\b)[\w.]+))?"
_SIZE = r"(?:\s+size\s+@(?P<size>\d+)(?:\s+times\s+@(?P<times>\d+))?)?"
_OBJECT = (
    rf"heapobj{_WORD}(?P<zeroed>\s+zeroed)?{_SIZE}"
    r"(?:\s+unless\s+@(?P<unless>\d+))?(?P<null>\s+or\s+null)?"
)
_RETURN_OBJECT = re.compile(rf"^return\s+{_OBJECT}$")
_OUT_OBJECT = re.compile(rf"^\*@(?P<argument>\d+)\s*=\s*{_OBJECT}$")
_RETURN_ARGUMENT = re.compile(
    r"^return\s+(?P<into>into\s+)?@(\d+)(?P<null>\s+or\s+null)?$"
)
_RETURN_NUMBER = re.compile(r"^return\s+(-?\d+)$")
_RETURN_AT_LEAST = re.compile(r"^return\s+at\s+least\s+(-?\d+)$")
_FREE = re.compile(r"^free\s+@(\d+)(?:\s+([\w.]+))?$")
_REALLOC = re.compile(rf"^realloc\s+@(?P<argument>\d+){_WORD}{_SIZE}$")
_ARGUMENT = re.compile(r"^(write|keep|call)\s+@(\d+)$")
_WRITE_FROM = re.compile(r"^write\s+@(\d+)\.\.$")
_GROW = re.compile(r"^\*@(\d+)\s*=\s*grown$")
_COPY = re.compile(r"^copy\s+@(\d+)\s+from\s+@(\d+)\s+for\s+@(\d+)$")
_SUCCESS = re.compile(r"^success\s+(\w+)$")

_PLAIN: dict[str, dict[str, object]] = {
    "ignored": {},
    "pure": {"pure": True},
    "noreturn": {"noreturn": True},
    "return int": {"result": Result.NOTHING_KNOWN},
    "return pointer": {"result": Result.POINTER},
    "return nonnull": {"result": Result.NON_NULL},
    "return size": {"result": Result.SIZE},
}


def source_name(function: str) -> str:
    """The name by which the source calls a library function."""
    return _RENAMED.sub("", function)


def parse(text: str, source: str) -> Iterator[Model]:
    """The models written in a text; `source` names it in messages.

    Raises:
        CheckError: A line cannot be understood.
    """
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if content:
            yield from _parse_line(content, f"{source}:{number}")


def _parse_line(content: str, where: str) -> Iterator[Model]:
    line = _LINE.match(content)
    if line is None:
        raise CheckError(
            f"{where}: not a model: {content!r}; write NAME {{ BEHAVIOUR; ... }}."
        )
    model = Model("")
    for behaviour in filter(None, map(str.strip, line["behaviours"].split(";"))):
        changed = _with_behaviour(model, " ".join(behaviour.split()))
        if changed is None:
            raise CheckError(f"{where}: unknown behaviour {behaviour!r}.")
        model = changed
    for name in line["names"].split():
        yield replace(model, name=name)


def _with_behaviour(model: Model, words: str) -> Model | None:
    if words in _PLAIN:
        return replace(model, **_PLAIN[words])  # type: ignore[arg-type]  # see _PLAIN
    for expression, add in _RULES:
        found = expression.match(words)
        if found:
            return add(model, found)
    return None


def _owned(found: re.Match[str], argument: int) -> Owned:
    return Owned(
        argument=argument,
        family=found["family"] or DEFAULT_FAMILY,
        zeroed=bool(found["zeroed"]),
        sizes=_sizes(found),
        unless_argument=int(found["unless"]) - 1 if found["unless"] else -1,
        may_be_null=bool(found["null"]),
    )


def _sizes(found: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(found[name]) - 1 for name in ("size", "times") if found[name])


def _return_object(model: Model, found: re.Match[str]) -> Model:
    owned = (*model.owned, _owned(found, -1))
    return replace(model, result=Result.HEAP, owned=owned)


def _out_object(model: Model, found: re.Match[str]) -> Model:
    owned = _owned(found, int(found["argument"]) - 1)
    return replace(model, owned=(*model.owned, owned))


def _return_argument(model: Model, found: re.Match[str]) -> Model:
    return replace(
        model,
        result=Result.INTO_ARGUMENT if found["into"] else Result.ARGUMENT,
        result_argument=int(found[2]) - 1,
        or_null=bool(found["null"]),
    )


def _return_number(model: Model, found: re.Match[str]) -> Model:
    return replace(model, result=Result.NUMBER, number=int(found[1]))


def _return_at_least(model: Model, found: re.Match[str]) -> Model:
    return replace(model, least=int(found[1]))


def _free(model: Model, found: re.Match[str]) -> Model:
    freed = Freed(int(found[1]) - 1, found[2] or DEFAULT_FAMILY)
    return replace(model, frees=(*model.frees, freed))


def _argument(model: Model, found: re.Match[str]) -> Model:
    place = int(found[2]) - 1
    if found[1] == "write":
        return replace(model, writes=(*model.writes, place))
    if found[1] == "keep":
        return replace(model, keeps=(*model.keeps, place))
    return replace(model, calls=(*model.calls, place))


def _realloc(model: Model, found: re.Match[str]) -> Model:
    family = found["family"] or DEFAULT_FAMILY
    resized = Resized(int(found["argument"]) - 1, family, _sizes(found))
    return replace(model, resizes=resized)


def _write_from(model: Model, found: re.Match[str]) -> Model:
    return replace(model, writes_from=int(found[1]) - 1)


def _grow(model: Model, found: re.Match[str]) -> Model:
    return replace(model, grows=(*model.grows, int(found[1]) - 1))


def _copy(model: Model, found: re.Match[str]) -> Model:
    copies = (int(found[1]) - 1, int(found[2]) - 1, int(found[3]) - 1)
    return replace(model, copies=copies)


def _success(model: Model, found: re.Match[str]) -> Model | None:
    names = {success.value: success for success in Success}
    success = names.get(found[1])
    return None if success is None else replace(model, success=success)


_RULES = (
    (_RETURN_OBJECT, _return_object),
    (_OUT_OBJECT, _out_object),
    (_RETURN_ARGUMENT, _return_argument),
    (_RETURN_NUMBER, _return_number),
    (_RETURN_AT_LEAST, _return_at_least),
    (_FREE, _free),
    (_REALLOC, _realloc),
    (_ARGUMENT, _argument),
    (_WRITE_FROM, _write_from),
    (_GROW, _grow),
    (_COPY, _copy),
    (_SUCCESS, _success),
)
