"""Instructions and constants of a function body, one class for each row of the facts.

Instructions are named tuples, not data classes: a program has millions of them, and a
decoded JSON array becomes one without running Python code for each field.
The meaning of every field is written in native/format/facts.md. A *ty* is 0 for a
pointer, n for an integer of n bits, -n for another value of n bytes, None for none.
"""

from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import NamedTuple, TypeAlias

Ty: TypeAlias = int | None
Value: TypeAlias = int

POINTER: Ty = 0


class Op(IntEnum):
    """The kind of an instruction: its first field."""

    ALLOCA = 0
    LOAD = 1
    STORE = 2
    ADDRESS = 3
    COMPARE = 4
    PHI = 5
    SELECT = 6
    BINARY = 7
    CAST = 8
    CALL = 9
    BRANCH = 10
    JUMP = 11
    SWITCH = 12
    RETURN = 13
    UNREACHABLE = 14
    INVOKE = 15
    LANDINGPAD = 16
    RESUME = 17
    ASM = 18
    COPY = 19
    FILL = 20
    VARIADIC = 21
    EXTRACT = 22
    INSERT = 23
    ATOMIC = 24
    ASSUME = 25
    GOTO = 26
    OTHER = 27


class CallFlag(IntFlag):
    """What is known about one call or invoke."""

    NORETURN = 1
    RETURNS_TWICE = 2
    NOTHROW = 4
    FRESH = 8
    NONNULL = 16
    BYVAL = 32


class AccessFlag(IntFlag):
    """What is known about one access to memory."""

    VOLATILE = 1
    ATOMIC = 2
    OVERLAP = 4


class AsmFlag(IntFlag):
    """What inline assembly may do."""

    SIDE_EFFECTS = 1
    WRITES_MEMORY = 2
    NO_INSTRUCTIONS = 4


class Alloca(NamedTuple):
    """Memory of the frame: `elements` (None for one) of `bytes` each."""

    op: int
    result: Value
    location: int
    bytes: int
    elements: Value | None
    variable: int


class Load(NamedTuple):
    """Reads `bytes` from memory."""

    op: int
    result: Value
    location: int
    pointer: Value
    ty: Ty
    bytes: int
    flags: int


class Store(NamedTuple):
    """Writes `bytes` to memory."""

    op: int
    result: Value
    location: int
    value: Value
    pointer: Value
    ty: Ty
    bytes: int
    flags: int


class Address(NamedTuple):
    """Pointer arithmetic: base + offset + sum of value x scale."""

    op: int
    result: Value
    location: int
    base: Value
    offset: int
    terms: Sequence[tuple[Value, int]]
    struct: int


class Compare(NamedTuple):
    """Compares two integers or pointers; `ty` is that of the operands."""

    op: int
    result: Value
    location: int
    predicate: str
    left: Value
    right: Value
    ty: Ty


class Phi(NamedTuple):
    """Takes the value that belongs to the block control came from."""

    op: int
    result: Value
    location: int
    ty: Ty
    incoming: Sequence[tuple[int, Value]]


class Select(NamedTuple):
    """One of two values, without a branch."""

    op: int
    result: Value
    location: int
    condition: Value
    if_true: Value
    if_false: Value
    ty: Ty


class Binary(NamedTuple):
    """Arithmetic."""

    op: int
    result: Value
    location: int
    operator: str
    left: Value
    right: Value
    ty: Ty


class Cast(NamedTuple):
    """Conversion between types; operator `same` keeps the value."""

    op: int
    result: Value
    location: int
    operator: str
    value: Value
    ty: Ty
    from_ty: Ty


class Call(NamedTuple):
    """A call: by name when direct, through a value when indirect.

    `member` names the structure member or variable an indirect callee is loaded from.
    """

    op: int
    result: Value
    location: int
    callee: str | Value
    arguments: Sequence[Value]
    ty: Ty
    flags: int
    signature: str | None
    member: str | None


class Branch(NamedTuple):
    """Goes to one of two blocks."""

    op: int
    result: Value
    location: int
    condition: Value
    if_true: int
    if_false: int


class Jump(NamedTuple):
    """Goes to a block."""

    op: int
    result: Value
    location: int
    target: int


class Switch(NamedTuple):
    """Goes to the block of the matching number."""

    op: int
    result: Value
    location: int
    value: Value
    default: int
    cases: Sequence[tuple[int, int]]


class Return(NamedTuple):
    """Leaves the function."""

    op: int
    result: Value
    location: int
    value: Value | None


class Unreachable(NamedTuple):
    """Control never comes here."""

    op: int
    result: Value
    location: int


class Invoke(NamedTuple):
    """A call that may continue in an exception handler."""

    op: int
    result: Value
    location: int
    callee: str | Value
    arguments: Sequence[Value]
    ty: Ty
    flags: int
    signature: str | None
    member: str | None
    normal: int
    unwind: int


class LandingPad(NamedTuple):
    """Start of an exception handler."""

    op: int
    result: Value
    location: int
    ty: Ty
    cleanup: int


class Resume(NamedTuple):
    """Continues an exception in the caller."""

    op: int
    result: Value
    location: int
    value: Value


class Asm(NamedTuple):
    """Inline assembly; with targets it ends its block."""

    op: int
    result: Value
    location: int
    arguments: Sequence[Value]
    ty: Ty
    flags: int
    targets: Sequence[int]


class Copy(NamedTuple):
    """memcpy or memmove."""

    op: int
    result: Value
    location: int
    destination: Value
    source: Value
    length: Value
    flags: int


class Fill(NamedTuple):
    """memset."""

    op: int
    result: Value
    location: int
    destination: Value
    byte: Value
    length: Value
    flags: int


class Variadic(NamedTuple):
    """va_start, va_end, va_copy or va_arg."""

    op: int
    result: Value
    location: int
    action: str
    list: Value
    source: Value | None
    ty: Ty


class Extract(NamedTuple):
    """Reads a member of an aggregate value."""

    op: int
    result: Value
    location: int
    aggregate: Value
    offset: int
    ty: Ty


class Insert(NamedTuple):
    """An aggregate value with one member replaced."""

    op: int
    result: Value
    location: int
    aggregate: Value
    value: Value
    offset: int
    ty: Ty


class Atomic(NamedTuple):
    """Atomic read-modify-write (`xchg`, `add`, ...) or compare-exchange (`cmpxchg`)."""

    op: int
    result: Value
    location: int
    operator: str
    pointer: Value
    value: Value
    expected: Value | None
    ty: Ty


class Assume(NamedTuple):
    """The program promises that the condition holds."""

    op: int
    result: Value
    location: int
    condition: Value


class Goto(NamedTuple):
    """Computed goto."""

    op: int
    result: Value
    location: int
    value: Value
    targets: Sequence[int]


class Other(NamedTuple):
    """Anything without a row of its own; the result is unknown."""

    op: int
    result: Value
    location: int
    opcode: str
    operands: Sequence[Value]
    ty: Ty


Instruction: TypeAlias = (
    Alloca
    | Load
    | Store
    | Address
    | Compare
    | Phi
    | Select
    | Binary
    | Cast
    | Call
    | Branch
    | Jump
    | Switch
    | Return
    | Unreachable
    | Invoke
    | LandingPad
    | Resume
    | Asm
    | Copy
    | Fill
    | Variadic
    | Extract
    | Insert
    | Atomic
    | Assume
    | Goto
    | Other
)

# Indexed by `Op`, in the order of the table in native/format/facts.md.
INSTRUCTION_CLASSES: tuple[type[Instruction], ...] = (
    Alloca,
    Load,
    Store,
    Address,
    Compare,
    Phi,
    Select,
    Binary,
    Cast,
    Call,
    Branch,
    Jump,
    Switch,
    Return,
    Unreachable,
    Invoke,
    LandingPad,
    Resume,
    Asm,
    Copy,
    Fill,
    Variadic,
    Extract,
    Insert,
    Atomic,
    Assume,
    Goto,
    Other,
)


class IntConstant(NamedTuple):
    """A number; signed, but 0 or 1 for one bit."""

    value: int
    bits: int


class NullConstant(NamedTuple):
    """The null pointer."""


class UndefConstant(NamedTuple):
    """A value the program never set."""


class FunctionConstant(NamedTuple):
    """The address of a function."""

    name: str


class GlobalConstant(NamedTuple):
    """An address within a global variable."""

    name: str
    offset: int


class FloatConstant(NamedTuple):
    """A floating-point number; None for infinities and NaN."""

    value: float | None


class ZeroConstant(NamedTuple):
    """An aggregate of zeros."""

    bytes: int


class TextConstant(NamedTuple):
    """Characters of a string literal, perhaps cut short."""

    text: str


class OtherConstant(NamedTuple):
    """A constant expression that has no simple value."""

    text: str


Constant: TypeAlias = (
    IntConstant
    | NullConstant
    | UndefConstant
    | FunctionConstant
    | GlobalConstant
    | FloatConstant
    | ZeroConstant
    | TextConstant
    | OtherConstant
)

CONSTANT_CLASSES: dict[str, type[Constant]] = {
    "int": IntConstant,
    "null": NullConstant,
    "undef": UndefConstant,
    "function": FunctionConstant,
    "global": GlobalConstant,
    "float": FloatConstant,
    "zero": ZeroConstant,
    "text": TextConstant,
    "other": OtherConstant,
}
