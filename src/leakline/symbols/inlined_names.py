"""Names of inlined calls whose description lies in a shared debug file.

Distributions move what several debug files have in common into one more file
(`.gnu_debugaltlink`). The main reader gives files and lines without it, not the names of
functions that are described there; here they are looked up one by one.
"""

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE

from leakline.symbols.debug_info import Location
from leakline.symbols.dwarf_entries import Uncertain, covers, linkage_name_of
from leakline.symbols.dwarf_unit import DwarfUnits

SCOPES = frozenset({"DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"})


def with_names(
    locations: list[Location], address: int, units: DwarfUnits
) -> list[Location]:
    """The same calls, named where the shared file names them."""
    if all(location.symbol for location in locations):
        return locations
    try:
        function = units.function_at(address)
        names = _call_names(function, address) if function is not None else []
    except (ELFError, Uncertain, KeyError, ValueError):
        return locations
    if len(names) != len(locations):
        return locations  # the two readings do not fit: better no name than a wrong one
    return [
        location._replace(symbol=location.symbol or name)
        for location, name in zip(locations, names, strict=True)
    ]


def _call_names(function: DIE, address: int) -> list[str]:
    """Names of the calls that contain an address, innermost first."""
    names = [linkage_name_of(function)]
    scope: DIE | None = function
    while scope is not None:
        scope = next(
            (
                die
                for die in scope.iter_children()
                if die.tag in SCOPES and covers(die, address)
            ),
            None,
        )
        if scope is not None and scope.tag == "DW_TAG_inlined_subroutine":
            names.insert(0, linkage_name_of(scope))
    return names
