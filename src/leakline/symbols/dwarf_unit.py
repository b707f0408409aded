"""Opens the DWARF data of a file and finds the function that contains an address."""

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from leakline.symbols.debug_files import DebugFiles
from leakline.symbols.dwarf_entries import covers

SCOPES_OF_FUNCTIONS = frozenset(
    {
        "DW_TAG_namespace",
        "DW_TAG_structure_type",
        "DW_TAG_class_type",
        "DW_TAG_module",
    }
)

# Units larger than this would take seconds to read.
UNIT_LIMIT_BYTES = 16 << 20


class DwarfUnits:
    """The compilation units of a file with debug information."""

    def __init__(self, units: list[CompileUnit]) -> None:
        self._units = units

    def function_at(self, address: int) -> DIE | None:
        """The function that contains a link-time address, None when none is found."""
        for unit in self._units:
            if unit["unit_length"] > UNIT_LIMIT_BYTES:
                continue
            top = unit.get_top_DIE()
            if covers(top, address):
                return _function_in(top, address)
        return None


def open_units(files: DebugFiles) -> DwarfUnits | None:
    """The units of a module's debug file; None when it cannot be read."""
    if files.main is None:
        return None
    try:
        dwarf = _open(files.main.path)
        if files.supplementary is not None:
            dwarf.supplementary_dwarfinfo = _open(files.supplementary.path)
        return DwarfUnits(list(dwarf.iter_CUs()))
    except (ELFError, OSError, ValueError, KeyError):
        return None


def _open(path: Path) -> DWARFInfo:
    with path.open("rb") as file:
        return ELFFile(file).get_dwarf_info(follow_links=False)


def _function_in(scope: DIE, address: int) -> DIE | None:
    for die in scope.iter_children():
        if die.tag == "DW_TAG_subprogram" and covers(die, address):
            return die
        if die.tag in SCOPES_OF_FUNCTIONS and die.has_children:
            found = _function_in(die, address)
            if found is not None:
                return found
    return None
