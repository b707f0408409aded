"""Opens the DWARF data of a file and finds the function that contains an address."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from leakline.symbols.debug_files import DebugFiles
from leakline.symbols.dwarf_entries import DEPTH_LIMIT, Uncertain, ranges_of

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


class _Index:
    """Entries by the addresses they cover."""

    def __init__(self, entries: Iterable[DIE]) -> None:
        self._ranges = sorted(
            ((low, high, die) for die in entries for low, high in ranges_of(die)),
            key=lambda item: item[:2],
        )
        self._starts = [low for low, _, _ in self._ranges]

    def find(self, address: int) -> DIE | None:
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        _, high, die = self._ranges[position]
        return die if address < high else None


class DwarfUnits:
    """The compilation units of a file with debug information."""

    def __init__(self, units: Iterable[CompileUnit]) -> None:
        small = [unit for unit in units if unit["unit_length"] <= UNIT_LIMIT_BYTES]
        self._units = _Index(unit.get_top_DIE() for unit in small)
        self._outer: dict[int, _Index] = {}
        self._nested: dict[int, _Index] = {}

    def unit_at(self, address: int) -> DIE | None:
        """The root entry of the unit that contains a link-time address."""
        return self._units.find(address)

    def function_at(self, address: int) -> DIE | None:
        """The function that contains a link-time address, None when none is found."""
        top = self.unit_at(address)
        if top is None:
            return None
        key = top.offset
        if key not in self._outer:
            self._outer[key] = _Index(_functions(top.iter_children()))
        found = self._outer[key].find(address)
        if found is not None:
            return found
        # Namespaces may hold thousands of declarations: they are read only if needed.
        if key not in self._nested:
            self._nested[key] = _Index(_nested_functions(top.iter_children(), 0))
        return self._nested[key].find(address)


def open_units(files: DebugFiles) -> DwarfUnits | None:
    """The units of a module's debug file; None when it cannot be read."""
    if files.main is None:
        return None
    try:
        dwarf = _open(files.main.path)
        if files.supplementary is not None:
            dwarf.supplementary_dwarfinfo = _open(files.supplementary.path)
        return DwarfUnits(dwarf.iter_CUs())
    except (ELFError, Uncertain, OSError, ValueError, KeyError):
        return None


def _open(path: Path) -> DWARFInfo:
    with path.open("rb") as file:
        return ELFFile(file).get_dwarf_info(follow_links=False)


def _functions(entries: Iterable[DIE]) -> Iterator[DIE]:
    return (die for die in entries if die.tag == "DW_TAG_subprogram")


def _nested_functions(entries: Iterable[DIE], depth: int) -> Iterator[DIE]:
    for scope in entries:
        if scope.tag in SCOPES_OF_FUNCTIONS and depth < DEPTH_LIMIT:
            children = list(scope.iter_children())
            yield from _functions(children)
            yield from _nested_functions(children, depth + 1)
