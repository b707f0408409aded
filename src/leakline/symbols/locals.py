"""Which variable a register or a place in the stack frame stands for at an address.

Reads locations as compilers describe them for optimised code: one for a range of
addresses, whole or in pieces, in the scopes of the function and of calls inlined there.
"""

from collections.abc import Iterator
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.locationlists import (
    BaseAddressEntry,
    LocationEntry,
    LocationExpr,
    LocationParser,
)

from leakline.symbols.dwarf_entries import (
    DEPTH_LIMIT,
    VARIABLES,
    Uncertain,
    name_of,
    ranges_of,
)
from leakline.symbols.dwarf_types import member_at, type_of
from leakline.symbols.dwarf_unit import DwarfUnits

INLINED = "DW_TAG_inlined_subroutine"
SCOPES = frozenset({"DW_TAG_lexical_block", INLINED, "DW_TAG_try_block"})
_CFA = "DW_OP_call_frame_cfa"
_RBP = 6
_RBP_BELOW_CFA_BYTES = 16
_DWARF_REGISTERS = 32

Operations = list[tuple[str, list[int]]]


class Place(NamedTuple):
    """A register by its DWARF number, or else an offset from the frame's CFA."""

    register: int | None
    cfa_offset: int = 0


class Local(NamedTuple):
    """A variable that a place stands for.

    Attributes:
        name: With the member that lies at the place, as `pair.first`.
        function: The one that declares it, perhaps inlined.
        is_parameter: It belongs to the arguments of that function.
        is_inlined: That function is inlined.
        entry: Its type is asked for here.
        offset: From the start of the variable to the place.
    """

    name: str
    function: str
    is_parameter: bool
    is_inlined: bool
    entry: DIE
    offset: int


class _Stay(NamedTuple):
    """Where a variable lives while the instruction pointer is in a range."""

    low: int
    high: int
    start: int  # of this part, in the variable
    operations: Operations
    scope: DIE
    entry: DIE


class FunctionLocals:
    """The variables of a function and of what is inlined there."""

    def __init__(self, function: DIE) -> None:
        self._base = _frame_base(function)
        self._stays = [
            stay
            for owner, scope, die in _variables(function, function, 0)
            for stay in _stays(owner, scope, die)
        ]

    def at(self, address: int, place: Place) -> list[Local]:
        """The variables at a place before an instruction, innermost scope first."""
        found = []
        for stay in self._stays:
            if stay.low <= address < stay.high:
                inside = _distance(stay.operations, place, self._base)
                if inside is not None and inside >= 0:
                    found += _local(stay, stay.start + inside)
        return found[::-1]


def function_locals(units: DwarfUnits, address: int) -> FunctionLocals | None:
    """The variables of the function at an address; None where that is not understood."""
    try:
        function = units.function_at(address)
        return FunctionLocals(function) if function is not None else None
    except (Uncertain, ELFError, KeyError, ValueError, RecursionError):
        return None


def _variables(owner: DIE, scope: DIE, depth: int) -> Iterator[tuple[DIE, DIE, DIE]]:
    """The variables of a scope with the function that declares them and the scope."""
    if depth > DEPTH_LIMIT:
        raise Uncertain
    for die in scope.iter_children():
        if die.tag in VARIABLES:
            yield owner, scope, die
        elif die.tag in SCOPES:
            inner = die if die.tag == INLINED else owner
            yield from _variables(inner, die, depth + 1)


def _stays(owner: DIE, scope: DIE, die: DIE) -> Iterator[_Stay]:
    for low, high, operations in _locations(scope, die):
        for start, part in _pieces(operations):
            yield _Stay(low, high, start, part, owner, die)


def _local(stay: _Stay, offset: int) -> list[Local]:
    die, scope = stay.entry, stay.scope
    member = member_at(type_of(die), offset)
    if member is None:
        return []
    return [
        Local(
            name_of(die) + member.path,
            name_of(scope),
            die.tag == "DW_TAG_formal_parameter",
            scope.tag == INLINED,
            die,
            offset,
        )
    ]


def _distance(operations: Operations, place: Place, base: int | None) -> int | None:
    """From where operations put a variable to a place; None when it is elsewhere."""
    if place.register is not None:
        return 0 if _register(operations) == place.register else None
    if len(operations) != 1:
        return None
    name, arguments = operations[0]
    if name == "DW_OP_fbreg" and base is not None:
        return place.cfa_offset - (base + arguments[0])
    return None


def _register(operations: Operations) -> int | None:
    """The register that holds a variable, or that its value is computed from."""
    if not operations:
        return None
    name, arguments = operations[0]
    if len(operations) == 1:
        if name == "DW_OP_regx":
            return arguments[0]
        if name.startswith("DW_OP_reg"):
            return _number(name, "DW_OP_reg")
    if operations[-1][0] == "DW_OP_stack_value" and name.startswith("DW_OP_breg"):
        return _number(name, "DW_OP_breg")
    return None


def _number(name: str, prefix: str) -> int | None:
    text = name.removeprefix(prefix)
    return int(text) if text.isdigit() and int(text) < _DWARF_REGISTERS else None


def _pieces(operations: Operations) -> Iterator[tuple[int, Operations]]:
    """The parts of a location with their offsets in the variable."""
    part: Operations = []
    start = 0
    for name, arguments in operations:
        if name == "DW_OP_piece":
            yield start, part
            start += arguments[0]
            part = []
        else:
            part.append((name, arguments))
    if part:
        yield start, part


def _locations(scope: DIE, die: DIE) -> Iterator[tuple[int, int, Operations]]:
    """Where a variable is, by ranges of addresses."""
    attribute = die.attributes.get("DW_AT_location")
    if attribute is None or die.dwarfinfo is None:
        return
    lists = die.dwarfinfo.location_lists()
    parsed = LocationParser(lists).parse_from_attribute(
        attribute, die.cu["version"], die
    )
    parser = DWARFExprParser(die.cu.structs)
    if isinstance(parsed, LocationExpr):
        operations = _operations(parser, parsed.loc_expr)
        for low, high in ranges_of(scope):
            yield low, high, operations
        return
    for low, high, expression in _listed(die, parsed):
        yield low, high, _operations(parser, expression)


def _listed(die: DIE, entries: object) -> Iterator[tuple[int, int, list[int]]]:
    top = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
    base = top.value if top is not None else 0
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        elif isinstance(entry, LocationEntry):
            start = 0 if entry.is_absolute else base
            low, high = entry.begin_offset + start, entry.end_offset + start
            yield low, high, entry.loc_expr


def _operations(parser: DWARFExprParser, expression: list[int]) -> Operations:
    return [(one.op_name, one.args) for one in parser.parse_expr(expression)]


def _frame_base(function: DIE) -> int | None:
    """The frame base minus the CFA; None when it is neither CFA nor rbp."""
    attribute = function.attributes.get("DW_AT_frame_base")
    if attribute is None or not isinstance(attribute.value, list):
        return None
    operations = _operations(DWARFExprParser(function.cu.structs), attribute.value)
    if operations == [(_CFA, [])]:
        return 0
    if _register(operations) == _RBP:
        return -_RBP_BELOW_CFA_BYTES
    return None
