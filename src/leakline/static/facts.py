"""What the compiler front end says about one translation unit.

A `Unit` holds its functions with their bodies still encoded; `Function.body()` decodes
one. The fields' meaning is written in native/format/facts.md.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import Any, NamedTuple, cast

from leakline.static.instructions import (
    CONSTANT_CLASSES,
    INSTRUCTION_CLASSES,
    Constant,
    Instruction,
    Ty,
)

VERSION = 2


class Linkage(Enum):
    """Which definition a name stands for outside its unit."""

    INTERNAL = "internal"
    EXTERNAL = "external"
    WEAK = "weak"
    ONCE = "once"
    COMMON = "common"
    AVAILABLE = "available"


class ParameterFlag(IntFlag):
    """What is known about one parameter."""

    NONNULL = 1
    BYVAL = 2
    SRET = 4
    NOESCAPE = 8
    READONLY = 16


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the source; line and column are 0 when unknown."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a structure or union; a base class has an empty name."""

    name: str
    offset_bits: int
    type: int


@dataclass(frozen=True, slots=True)
class SourceType:
    """A type as debug information gives it.

    Attributes:
        kind: base, enum, function, pointer, struct, union, array or other.
        bytes: Size; -1 when unknown or only declared.
        target: Pointed-to or element type, -1 for void and for other kinds.
        count: Elements of an array, -1 when unknown.
    """

    kind: str
    name: str = ""
    bytes: int = -1
    target: int = -1
    count: int = -1
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A formal parameter; `type` is an index into the unit's types or -1."""

    name: str
    ty: Ty
    type: int
    flags: ParameterFlag


@dataclass(frozen=True, slots=True)
class Release:
    """The function, and its argument from 0, that releases a result."""

    function: str
    argument: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """A function as its callers see it."""

    name: str
    display: str
    signature: str
    variadic: bool
    returns: Ty
    parameters: tuple[Parameter, ...]
    attributes: frozenset[str]
    releases: tuple[Release, ...]


class MemberStore(NamedTuple):
    """A function pointer that is stored into a member or variable.

    `function` is None when the value is not one known function.
    """

    member: str
    function: str | None


@dataclass(frozen=True, slots=True)
class InitialValue:
    """One scalar that a global variable starts with."""

    offset_bytes: int
    ty: Ty
    constant: Constant


@dataclass(frozen=True, slots=True)
class Global:
    """A global variable.

    Attributes:
        display: Name in the source; a static local has a longer `name`.
        constant: It never changes.
        only_read: Nothing in the unit can change it or make its address known.
        initialiser: Scalars that are not zero, by offset; with `truncated` set the
            scalars that are not addresses are incomplete.
    """

    name: str
    display: str
    linkage: Linkage
    defined: bool
    constant: bool
    only_read: bool
    thread_local: bool
    bytes: int
    type: int
    file: str
    line: int
    initialiser: tuple[InitialValue, ...]
    truncated: bool
    member_stores: tuple[MemberStore, ...]


class Variable(NamedTuple):
    """A local variable or parameter by name.

    Attributes:
        parameter: Its position from 0, or -1 for a local.
        line: Relative to the function's line.
    """

    name: str
    type: int
    parameter: int
    line: int


class Binding(NamedTuple):
    """Before instruction `position` of `block` the variable starts to hold the value.

    `value` is None when the variable has no known value from here on.
    """

    block: int
    position: int
    variable: int
    value: int | None
    location: int


@dataclass(frozen=True, slots=True)
class Body:
    """The instructions of a function; value -v-1 is `constants[v]`."""

    constants: tuple[Constant, ...]
    locations: Sequence[tuple[int, int, int]]
    variables: tuple[Variable, ...]
    blocks: tuple[tuple[Instruction, ...], ...]
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A defined function; its interface is `declaration`.

    Attributes:
        calls: Names called directly, in order of first call.
        takes: Names of functions whose address is used other than for a call.
        signatures: Signatures of its indirect calls.
        globals: Names of global variables it uses.
        member_stores: Function pointers it stores into members and variables.
        encoded_body: The body's line of the facts; `body()` decodes it.
    """

    name: str
    display: str
    linkage: Linkage
    file: str
    line: int
    return_type: int
    declaration: Declaration
    calls: tuple[str, ...]
    takes: tuple[str, ...]
    signatures: tuple[str, ...]
    globals: tuple[str, ...]
    member_stores: tuple[MemberStore, ...]
    values: int
    instructions: int
    encoded_body: bytes

    def body(self) -> Body:
        """Decode the body; callers keep the result, it is not remembered here."""
        return decode_body(self.encoded_body)

    def digest(self) -> bytes:
        """Name of the body's content; the same after the function has moved."""
        return hashlib.blake2b(self.encoded_body, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Unit:
    """One translation unit.

    Attributes:
        files: Paths; 0 is the main file.
        declarations: Functions used but not defined here, by name.
        aliases: Other name of a function or variable to its target's name.
    """

    llvm: str
    source: str
    directory: str
    language: str
    target: str
    pointer_bytes: int
    files: tuple[str, ...]
    types: tuple[SourceType, ...]
    globals: dict[str, Global]
    declarations: dict[str, Declaration]
    aliases: dict[str, tuple[str, Linkage]]
    constructors: tuple[str, ...]
    destructors: tuple[str, ...]
    functions: dict[str, Function]

    def location(self, function: Function, body: Body, index: int) -> Location:
        """The place in the source that an instruction's location index names."""
        file, line, column = body.locations[index]
        if index == 0:
            return Location(function.file, function.line, 0)
        if file < 0:
            return Location(function.file, function.line + line, column)
        return Location(self.files[file], line, column)


def decode_body(encoded: bytes) -> Body:
    """Turn a body line of the facts into instructions."""
    raw: dict[str, Any] = json.loads(encoded)
    new = tuple.__new__
    classes = INSTRUCTION_CLASSES
    blocks = tuple(
        tuple([new(classes[row[0]], row) for row in block]) for block in raw["blocks"]
    )
    return Body(
        constants=tuple(decode_constant(row) for row in raw["constants"]),
        locations=raw["locations"],
        variables=tuple([new(Variable, row) for row in raw["variables"]]),
        blocks=cast("tuple[tuple[Instruction, ...], ...]", blocks),
        bindings=tuple([new(Binding, row) for row in raw["bindings"]]),
    )


def decode_constant(row: list[Any]) -> Constant:
    """Turn a constant's array into its class."""
    return tuple.__new__(CONSTANT_CLASSES[row[0]], row[1:])
