"""Where the compiler put a function into others, by the debug information."""

from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE

from leakline.symbols.dwarf_entries import (
    DEPTH_LIMIT,
    Uncertain,
    linkage_name_of,
    ranges_of,
)
from leakline.symbols.dwarf_unit import SCOPES_IN_FUNCTIONS, DwarfUnits


def inlined_starts(units: DwarfUnits, address: int, symbol: str) -> list[int]:
    """One address in each place where a function is inlined in the one at an address.

    Empty when that is not known.
    """
    try:
        function = units.function_at(address)
        places = list(_places(function, symbol, 0)) if function is not None else []
        return [min(low for low, _ in ranges_of(place)) for place in places]
    except (ELFError, Uncertain, KeyError, ValueError):
        return []


def _places(scope: DIE, symbol: str, depth: int) -> Iterator[DIE]:
    if depth > DEPTH_LIMIT:
        raise Uncertain
    for die in scope.iter_children():
        if die.tag not in SCOPES_IN_FUNCTIONS:
            continue
        if die.tag == "DW_TAG_inlined_subroutine" and linkage_name_of(die) == symbol:
            yield die
        yield from _places(die, symbol, depth + 1)
