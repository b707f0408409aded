"""The variables of a function that live in its stack frame, and which are in scope.

Reads the DWARF data of the one unit that contains an address. There is an answer only
where it holds by construction: in code compiled without optimisation every small
variable has a slot of its own, which nothing else uses. Whatever is not understood gives
no answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarf_expr import DWARFExprParser

from leakline.symbols.dwarf_entries import (
    DEPTH_LIMIT,
    VARIABLES,
    Uncertain,
    covers,
    name_of,
    size_of,
)
from leakline.symbols.dwarf_unit import DwarfUnits

SCOPES_OF_VARIABLES = frozenset(
    {"DW_TAG_lexical_block", "DW_TAG_inlined_subroutine", "DW_TAG_try_block"}
)
STATIC_PLACES = frozenset(
    {"DW_OP_addr", "DW_OP_addrx", "DW_OP_const8u", "DW_OP_GNU_addr_index"}
)
OPTIMISATION_MARKS = frozenset(
    {"DW_AT_call_all_calls", "DW_AT_GNU_all_call_sites", "DW_AT_APPLE_optimized"}
)

# rbp points two words below the CFA once it is set up.
RBP_BELOW_CFA_BYTES = 16
RBP = "DW_OP_reg6"


class Variable(NamedTuple):
    """A variable in the frame.

    Attributes:
        cfa_offset: Its address minus the frame's CFA.
        in_scope: Whether the asked address lies in all its scopes.
    """

    name: str
    cfa_offset: int
    size_bytes: int
    in_scope: bool


@dataclass(slots=True)
class FrameVariables:
    """A frame at one address; only the variables listed can use their slots."""

    function: str
    variables: list[Variable] = field(default_factory=list)


def frame_variables(units: DwarfUnits, address: int) -> FrameVariables | None:
    """The frame of the function that contains a link-time address.

    None when no function is found, it was optimised, or something is not understood.
    """
    try:
        unit = units.unit_at(address)
        if unit is None or _is_optimised_unit(unit):
            return None
        function = units.function_at(address)
        if function is None or _is_optimised_function(function):
            return None
        return _read_frame(function, address)
    except (Uncertain, ELFError, KeyError, ValueError, RecursionError):
        return None


def _read_frame(function: DIE, address: int) -> FrameVariables:
    frame = FrameVariables(name_of(function))
    parser = DWARFExprParser(function.cu.structs)
    base = _frame_base(function, parser)
    for die, in_scope in _variables(function, address, in_scope=True, depth=0):
        offset = _frame_offset(die, parser)
        if offset is not None:
            size = size_of(die)
            variable = Variable(name_of(die), base + offset, size, in_scope)
            frame.variables.append(variable)
    return frame


def _is_optimised_unit(unit: DIE) -> bool:
    """Whether variables of a unit may share slots, as far as the unit tells.

    gcc writes its switches down; with stack protection or sanitizers it lets even small
    variables share slots.
    """
    producer = _producer(unit)
    if not producer.startswith("GNU "):
        return "clang" not in producer
    switches = [word for word in producer.split() if word.startswith("-")]
    levels = [word for word in switches if word.startswith("-O")]
    sharing = ("-fstack-protector", "-fsanitize", "-flto")
    return (
        not switches
        or bool(levels and levels[-1] != "-O0")
        or any(word.startswith(sharing) for word in switches)
    )


def _is_optimised_function(function: DIE) -> bool:
    """Whether a function may be optimised although its unit is not.

    Both compilers describe all calls of optimised functions; gcc also those of
    functions that call nothing, which are left undecided by this.
    """
    return bool(OPTIMISATION_MARKS & function.attributes.keys())


def is_optimised(function: DIE) -> bool:
    """Whether the code of a function was, or may have been, compiled optimised."""
    top = function.cu.get_top_DIE()
    return _is_optimised_unit(top) or _is_optimised_function(function)


def _producer(unit: DIE) -> str:
    attribute = unit.attributes.get("DW_AT_producer")
    return attribute.value.decode("utf-8", "replace") if attribute else ""


def _frame_base(function: DIE, parser: DWARFExprParser) -> int:
    """The frame base minus the CFA."""
    attribute = function.attributes["DW_AT_frame_base"]
    operations = _expression(attribute, parser)
    if operations == [("DW_OP_call_frame_cfa", [])]:
        return 0
    if operations == [(RBP, [])]:
        return -RBP_BELOW_CFA_BYTES
    raise Uncertain


def _expression(
    attribute: object, parser: DWARFExprParser
) -> list[tuple[str, list[int]]]:
    form = getattr(attribute, "form", "")
    if form not in {"DW_FORM_exprloc", "DW_FORM_block1"}:
        raise Uncertain  # a list of locations is a mark of optimised code
    operations = parser.parse_expr(getattr(attribute, "value", []))
    return [(operation.op_name, operation.args) for operation in operations]


def _variables(
    scope: DIE, address: int, *, in_scope: bool, depth: int
) -> Iterator[tuple[DIE, bool]]:
    if depth > DEPTH_LIMIT:
        raise Uncertain
    for die in scope.iter_children():
        if die.tag in VARIABLES:
            yield die, in_scope
        elif die.tag in SCOPES_OF_VARIABLES:
            inside = in_scope and covers(die, address)
            yield from _variables(die, address, in_scope=inside, depth=depth + 1)


def _frame_offset(die: DIE, parser: DWARFExprParser) -> int | None:
    """The variable's place relative to the frame base; None when not in the frame."""
    attribute = die.attributes.get("DW_AT_location")
    if attribute is None:
        return None
    operations = _expression(attribute, parser)
    if not operations or operations[0][0] in STATIC_PLACES:
        return None
    if len(operations) == 1 and operations[0][0] == "DW_OP_fbreg":
        return int(operations[0][1][0])
    raise Uncertain
