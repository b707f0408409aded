"""Names addresses in bulk: `resolve` turns addresses of modules into frames.

A module is named only from a file with the build-id that was recorded; where that is
not to be had the frames stay without names and a sentence says why.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from leakline.model.stack import Frame, Naming
from leakline.symbols.debug_files import DebugFiles, find_debug_files
from leakline.symbols.debug_info import (
    DebugInfo,
    DebugInfoError,
    Location,
    open_debug_info,
)
from leakline.symbols.demangle import demangle
from leakline.symbols.dwarf_unit import DwarfUnits, open_units
from leakline.symbols.elf import ElfError, ElfFile, read_elf
from leakline.symbols.inlined_names import with_names
from leakline.symbols.symbol_table import SymbolTable, read_symbol_table

Progress = Callable[[str, int, int], None]
PROGRESS_STEP = 500


class Module(NamedTuple):
    """A program or library as it was recorded; an empty build-id is not compared."""

    path: str
    build_id: bytes


class Address(NamedTuple):
    """A link-time address in a module."""

    module: Module
    offset: int


@dataclass(slots=True)
class Resolved:
    """The frames of each address, innermost inlined call first, and what was missing."""

    frames: dict[Address, tuple[Frame, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Calls(NamedTuple):
    """What one address stands for before names are demangled."""

    address: Address
    locations: list[Location]
    naming: Naming


@dataclass(slots=True)
class _Sources:
    """Where the names of one module come from."""

    debug: DebugInfo | None = None
    table: SymbolTable | None = None
    shared: DwarfUnits | None = None
    notes: list[str] = field(default_factory=list)


def resolve(
    requests: Mapping[Module, Collection[int]],
    progress: Progress | None = None,
    *,
    recorded_ns: int = 0,
) -> Resolved:
    """Names every requested address of every module.

    Args:
        requests: Link-time addresses by module.
        progress: Called now and then with a stage, work done and work in all.
        recorded_ns: When the run ended, as time since the epoch. A file without
            build-id that was changed later is not used; 0 trusts it.
    """
    calls: list[_Calls] = []
    notes: list[str] = []
    total = sum(map(len, requests.values()))
    for module, offsets in sorted(requests.items()):
        sources = _open_sources(module, recorded_ns)
        notes += sources.notes
        for offset in offsets:
            if progress is not None and len(calls) % PROGRESS_STEP == 0:
                progress("naming addresses", len(calls), total)
            calls.append(_calls_at(Address(module, offset), sources))
    names = demangle(location.symbol for call in calls for location in call.locations)
    return Resolved({call.address: _frames(call, names) for call in calls}, notes)


def debug_files(module: Module) -> DebugFiles:
    """Where the debug information of a module lies."""
    if not module.path.startswith("/"):
        return DebugFiles(None)
    return find_debug_files(_read_module(module, _Sources(), 0), module.build_id)


def module_file(module: Module) -> ElfFile | None:
    """The file of a module; None unless its build-id proves that it is what ran."""
    if not module.path.startswith("/") or not module.build_id:
        return None
    return _read_module(module, _Sources(), 0)


def _open_sources(module: Module, recorded_ns: int) -> _Sources:
    sources = _Sources()
    if not module.path.startswith("/"):
        return sources  # the kernel's vdso and the like are no files
    elf = _read_module(module, sources, recorded_ns)
    files = find_debug_files(elf, module.build_id)
    sources.table = _read_table(elf, files)
    if files.main is None:
        return sources
    sources.notes.clear()
    if files.missing:
        sources.notes.append(
            f"{module.path}: the shared debug file {files.missing} is missing, so "
            "some inlined calls have no name."
        )
    if files.supplementary is not None:
        sources.shared = open_units(files)
    try:
        sources.debug = open_debug_info(files.main)
    except DebugInfoError as error:
        sources.notes.append(
            f"The debug information in {files.main.path} cannot be read: {error}."
        )
    return sources


def _read_module(module: Module, sources: _Sources, recorded_ns: int) -> ElfFile | None:
    """The module's file, None when it is not the one that ran."""
    path = Path(module.path)
    try:
        elf = read_elf(path)
        changed_ns = path.stat().st_mtime_ns
    except (ElfError, OSError, ValueError) as error:
        sources.notes.append(f"Frames in {module.path} have no names: {error}.")
        return None
    if module.build_id and elf.build_id != module.build_id:
        sources.notes.append(
            f"Frames in {module.path} have no names: the file has changed since the "
            "run (its build-id differs)."
        )
        return None
    if not module.build_id and 0 < recorded_ns < changed_ns:
        sources.notes.append(
            f"Frames in {module.path} have no names: the file is newer than the run, "
            "and it has no build-id that would prove that it is the same."
        )
        return None
    return elf


def _read_table(elf: ElfFile | None, files: DebugFiles) -> SymbolTable | None:
    for candidate in (files.main, elf):
        if candidate is not None and candidate.has_contents(".symtab"):
            return _table_of(candidate)
    return _table_of(elf) if elf is not None else None


def _table_of(elf: ElfFile) -> SymbolTable | None:
    try:
        return read_symbol_table(elf)
    except (ElfError, OSError):
        return None


def _calls_at(address: Address, sources: _Sources) -> _Calls:
    if sources.debug is not None:
        locations = sources.debug.find(address.offset)
        if locations and sources.shared is not None:
            locations = with_names(locations, address.offset, sources.shared)
        if locations:
            known = _with_public_name(locations, address.offset, sources.table)
            return _Calls(address, known, Naming.DEBUG_INFO)
    named = sources.table.find(address.offset) if sources.table is not None else None
    if named is None:
        return _Calls(address, [Location("", "", 0)], Naming.NONE)
    naming = Naming.SYMBOL if named.covers else Naming.NEAREST
    return _Calls(address, [Location(named.symbol, "", 0)], naming)


def _with_public_name(
    locations: list[Location], offset: int, table: SymbolTable | None
) -> list[Location]:
    """Calls a library's function as its users do: `strdup`, not `__strdup`."""
    *inlined, outermost = locations
    symbol = outermost.symbol
    if table is None or not symbol.startswith("_") or symbol.startswith(("_Z", "_R")):
        return locations
    named = table.find(offset)
    if named is None or not named.covers or named.symbol.startswith("_"):
        return locations
    return [*inlined, outermost._replace(symbol=named.symbol)]


def _frames(calls: _Calls, names: Mapping[str, str]) -> tuple[Frame, ...]:
    module, offset = calls.address
    outermost = len(calls.locations) - 1
    return tuple(
        Frame(
            function=names[location.symbol],
            file=location.file,
            line=location.line,
            module=module.path,
            offset=offset,
            inlined=index < outermost,
            naming=calls.naming,
            symbol=location.symbol if location.symbol != names[location.symbol] else "",
        )
        for index, location in enumerate(calls.locations)
    )
