"""Code and variables of the modules of a run, opened once and only if provably theirs."""

from dataclasses import dataclass, field
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.dwarf.die import DIE

from leakline.symbols.call_targets import CallTargets, call_targets
from leakline.symbols.data_symbols import (
    DataSymbols,
    read_data_symbols,
    read_thread_symbols,
)
from leakline.symbols.dwarf_entries import POINTER_BYTES, Uncertain, size_of
from leakline.symbols.dwarf_types import can_hold_pointer, type_of
from leakline.symbols.dwarf_unit import DwarfUnits, open_units
from leakline.symbols.elf import ElfError
from leakline.symbols.locals import FunctionLocals, Local, Place, function_locals
from leakline.symbols.machine_code import CodeFile, MachineCode
from leakline.symbols.resolve import Module, debug_files, module_file
from leakline.symbols.thread_table import read_thread_table

# Debug information read for this in one report; a megabyte takes a quarter of a second.
UNITS_LIMIT_BYTES = 24 << 20
RETURNED_WORDS_MOST = 2  # in registers, that is


class OpenModule(NamedTuple):
    """What is known about the code of a module; `units` is None without debug data."""

    code: CodeFile
    targets: CallTargets
    symbols: DataSymbols
    thread_symbols: DataSymbols
    thread_table: dict[int, int]
    units: DwarfUnits | None


@dataclass(slots=True)
class CodeReader:
    """Opens modules; remembers what it read.

    Attributes:
        unread_units: Units left out because too much would have to be read.
    """

    unread_units: int = 0
    _modules: dict[Module, OpenModule | None] = field(default_factory=dict)
    _sizes: dict[tuple[Module, int], int] = field(default_factory=dict)
    _refused: set[tuple[Module, int]] = field(default_factory=set)
    _locals: dict[tuple[Module, int], FunctionLocals | None] = field(
        default_factory=dict
    )

    def open(self, module: Module) -> OpenModule | None:
        """The module; None when it is not the one that ran, or cannot be read."""
        if module not in self._modules:
            self._modules[module] = _open(module)
        return self._modules[module]

    def code_at(self, module: Module, address: int) -> MachineCode | None:
        """The function that contains a link-time address."""
        opened = self.open(module)
        return opened.code.function_at(address) if opened is not None else None

    def units_for(self, module: Module, address: int) -> DwarfUnits | None:
        """The debug data of a module, if that at an address is not too much to read."""
        opened = self.open(module)
        if opened is None or opened.units is None:
            return None
        unit = opened.units.unit_at(address)
        if unit is None:
            return None
        key = (module, unit.offset)
        if key not in self._sizes and key not in self._refused:
            size = int(unit.cu["unit_length"])
            if sum(self._sizes.values()) + size > UNITS_LIMIT_BYTES:
                self._refused.add(key)
                self.unread_units += 1
            else:
                self._sizes[key] = size
        return opened.units if key in self._sizes else None

    def function_entry(self, module: Module, address: int) -> DIE | None:
        """The debug data's entry of the function that contains an address."""
        units = self.units_for(module, address)
        try:
            return units.function_at(address) if units is not None else None
        except (Uncertain, ELFError, KeyError, ValueError):
            return None

    def locals_at(self, module: Module, address: int, place: Place) -> list[Local]:
        """The variables at a place, innermost scope first."""
        code = self.code_at(module, address)
        if code is None:
            return []
        key = (module, code.start)
        if key not in self._locals:
            units = self.units_for(module, address)
            known = function_locals(units, address) if units is not None else None
            self._locals[key] = known
        known = self._locals[key]
        try:
            return known.at(address, place) if known is not None else []
        except (Uncertain, ELFError, KeyError, ValueError, RecursionError):
            return []

    def global_entry(self, module: Module, address: int, symbol: str) -> DIE | None:
        """The entry of a variable with a fixed address, as code at an address knows it."""
        units = self.units_for(module, address)
        try:
            return units.variable_named(address, symbol) if units is not None else None
        except (Uncertain, ELFError, KeyError, ValueError, RecursionError):
            return None

    def can_return_pointer(self, module: Module, address: int) -> bool:
        """Whether the function at an address may return one; without data it may."""
        return self.returned_words(module, address) > 0

    def returned_words(self, module: Module, address: int) -> int:
        """How many words a function returns that may hold pointers; in doubt two."""
        entry = self.function_entry(module, address)
        if entry is None:
            return RETURNED_WORDS_MOST
        try:
            returned = type_of(entry)
            if returned is None or not can_hold_pointer(returned):
                return 0
            return 1 if size_of(returned) <= POINTER_BYTES else RETURNED_WORDS_MOST
        except (Uncertain, ELFError, KeyError, ValueError):
            return RETURNED_WORDS_MOST


def _open(module: Module) -> OpenModule | None:
    elf = module_file(module)
    if elf is None:
        return None
    try:
        code = CodeFile(elf)
        targets = call_targets(elf, code)
        symbols = read_data_symbols(elf)
        thread_symbols = read_thread_symbols(elf)
        thread_table = read_thread_table(elf, code)
    except (ElfError, OSError):
        return None
    units = open_units(debug_files(module))
    return OpenModule(code, targets, symbols, thread_symbols, thread_table, units)
