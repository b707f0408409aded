"""Opens the DWARF data of a file and finds the function that contains an address."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from elftools.common.exceptions import ELFError
from elftools.dwarf.aranges import ARangeEntry
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from leakline.symbols.debug_files import DebugFiles
from leakline.symbols.dwarf_entries import (
    DEPTH_LIMIT,
    Uncertain,
    linkage_name_of,
    name_of,
    ranges_of,
)

SCOPES_OF_FUNCTIONS = frozenset(
    {
        "DW_TAG_namespace",
        "DW_TAG_structure_type",
        "DW_TAG_class_type",
        "DW_TAG_module",
    }
)

SCOPES_IN_FUNCTIONS = frozenset({"DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"})

# Units larger than this would take seconds to read.
UNIT_LIMIT_BYTES = 16 << 20


T = TypeVar("T")
# The first address of a range, the one after its last, and what covers it.
_Covered: TypeAlias = tuple[int, int, T]


class _Index(Generic[T]):
    """Units or entries by the addresses they cover."""

    def __init__(self, ranges: Iterable[_Covered[T]]) -> None:
        self._ranges = sorted(ranges, key=lambda item: item[:2])
        self._starts = [low for low, _, _ in self._ranges]

    def find(self, address: int) -> T | None:
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        _, high, covering = self._ranges[position]
        return covering if address < high else None


def _by_entries(entries: Iterable[DIE]) -> _Index[DIE]:
    return _Index((low, high, die) for die in entries for low, high in ranges_of(die))


class DwarfUnits:
    """The compilation units of a file with debug information."""

    def __init__(self, dwarf: DWARFInfo) -> None:
        self._units = _Index(_ranges_of_units(dwarf))
        self._outer: dict[int, _Index[DIE]] = {}
        self._nested: dict[int, _Index[DIE]] = {}
        self._variables: dict[int, dict[str, DIE]] = {}

    def unit_at(self, address: int) -> DIE | None:
        """The root entry of the unit that contains a link-time address."""
        unit = self._units.find(address)
        return None if unit is None else unit.get_top_DIE()

    def function_at(self, address: int) -> DIE | None:
        """The function that contains a link-time address, None when none is found."""
        top = self.unit_at(address)
        if top is None:
            return None
        key = top.offset
        if key not in self._outer:
            self._outer[key] = _by_entries(_functions(top.iter_children()))
        found = self._outer[key].find(address)
        if found is not None:
            return found
        # Namespaces may hold thousands of declarations: they are read only if needed.
        if key not in self._nested:
            self._nested[key] = _by_entries(_nested_functions(top.iter_children(), 0))
        return self._nested[key].find(address)

    def variable_named(self, address: int, symbol: str) -> DIE | None:
        """A variable of the unit that contains an address, by its linkage name.

        Variables of functions are found by their plain name in that function only.
        """
        top = self.unit_at(address)
        if top is None:
            return None
        if top.offset not in self._variables:
            entries = _variables(top.iter_children(), 0)
            known: dict[str, DIE] = {}
            for entry in entries:
                known.setdefault(name_of(entry), entry)
                known[linkage_name_of(entry)] = entry
            self._variables[top.offset] = known
        variables = self._variables[top.offset]
        found = variables.get(symbol) or variables.get(_last_name(symbol))
        function = self.function_at(address) if found is None else None
        if function is None:
            return found
        plain = symbol.partition(".")[0]
        return next(
            (
                one
                for one in _inner_variables(function, 0)
                if linkage_name_of(one) in (symbol, plain)
                or _is_local_symbol(symbol, name_of(one))
            ),
            None,
        )


def _ranges_of_units(dwarf: DWARFInfo) -> Iterator[_Covered[CompileUnit]]:
    """Which unit covers which addresses.

    A table says it of most units; the entries of the others are read, which takes long.
    """
    units = {
        unit.cu_offset: unit
        for unit in dwarf.iter_CUs()
        if unit["unit_length"] <= UNIT_LIMIT_BYTES
    }
    listed = _address_table(dwarf)
    for entry in listed:
        if entry.info_offset in units:
            end = entry.begin_addr + entry.length
            yield entry.begin_addr, end, units[entry.info_offset]
    for offset in units.keys() - {entry.info_offset for entry in listed}:
        for low, high in ranges_of(units[offset].get_top_DIE()):
            yield low, high, units[offset]


def _address_table(dwarf: DWARFInfo) -> list[ARangeEntry]:
    try:
        table = dwarf.get_aranges()
    except (ELFError, ValueError, AssertionError):  # it asserts what a file says
        return []
    return table.entries if table is not None else []


def _last_name(symbol: str) -> str:
    """The plain name in a mangled one; empty unless it is in plain namespaces."""
    parts = re.fullmatch(r"_ZN(.+)E", symbol)
    rest, last = parts[1] if parts else "", ""
    while length := re.match(r"\d+", rest):
        start = length.end()
        last = rest[start : start + int(length[0])]
        rest = rest[start + int(length[0]) :]
    return last if not rest else ""


def _is_local_symbol(symbol: str, name: str) -> bool:
    """Whether a mangled symbol is that of a static variable in a function."""
    return symbol.startswith("_ZZ") and symbol.endswith(f"E{len(name)}{name}")


def open_units(files: DebugFiles) -> DwarfUnits | None:
    """The units of a module's debug file; None when it cannot be read."""
    if files.main is None:
        return None
    try:
        dwarf = _open(files.main.path)
        if files.supplementary is not None:
            dwarf.supplementary_dwarfinfo = _open(files.supplementary.path)
        return DwarfUnits(dwarf)
    except (ELFError, Uncertain, OSError, ValueError, KeyError):
        return None


def _open(path: Path) -> DWARFInfo:
    with path.open("rb") as file:
        return ELFFile(file).get_dwarf_info(follow_links=False)


def _functions(entries: Iterable[DIE]) -> Iterator[DIE]:
    return (die for die in entries if die.tag == "DW_TAG_subprogram")


def _variables(entries: Iterable[DIE], depth: int) -> Iterator[DIE]:
    """Variables outside functions; a definition may lie apart from its namespace."""
    for die in entries:
        if die.tag == "DW_TAG_variable":
            yield die
        elif die.tag == "DW_TAG_namespace" and depth < DEPTH_LIMIT:
            yield from _variables(die.iter_children(), depth + 1)


def _inner_variables(scope: DIE, depth: int) -> Iterator[DIE]:
    for die in scope.iter_children():
        if die.tag == "DW_TAG_variable":
            yield die
        elif die.tag in SCOPES_IN_FUNCTIONS and depth < DEPTH_LIMIT:
            yield from _inner_variables(die, depth + 1)


def _nested_functions(entries: Iterable[DIE], depth: int) -> Iterator[DIE]:
    for scope in entries:
        if scope.tag in SCOPES_OF_FUNCTIONS and depth < DEPTH_LIMIT:
            children = list(scope.iter_children())
            yield from _functions(children)
            yield from _nested_functions(children, depth + 1)
