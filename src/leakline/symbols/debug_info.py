"""Functions, files and lines from DWARF data, by way of the `symbolic` library.

The library turns the data of a file into a compact table once; the table is kept in the
cache and opened at once the next time.
"""

from typing import BinaryIO, NamedTuple, cast

from symbolic.debuginfo import Archive
from symbolic.exceptions import SymbolicError
from symbolic.symcache import SYMCACHE_LATEST_VERSION, SourceLocation, SymCache

from leakline.symbols.cache import add_entry, cache_folder, cache_key, find_entry
from leakline.symbols.elf import ElfFile


class DebugInfoError(ValueError):
    """The debug information of a file is damaged."""


class Location(NamedTuple):
    """One call that contains an address.

    Attributes:
        symbol: Linkage name, or the plain name of functions that have none; empty when
            the data does not say.
    """

    symbol: str
    file: str
    line: int


class DebugInfo:
    """The debug information of one file."""

    def __init__(self, table: SymCache, load_address: int) -> None:
        self._table = table
        self._load_address = load_address

    def find(self, address: int) -> list[Location]:
        """The calls at a link-time address, innermost inlined one first.

        Empty when the debug information does not cover the address.
        """
        relative = address - self._load_address
        if relative < 0:
            return []
        found = [
            (Location(match.symbol, match.full_path or "", match.line), match.lang)
            for match in _lookup(self._table, relative)
        ]
        # A name without language or file comes from the symbol table and may only be
        # the nearest one.
        covered = any(location.file or lang != "unknown" for location, lang in found)
        return [location for location, _ in found] if covered else []


def open_debug_info(elf: ElfFile) -> DebugInfo:
    """Opens the debug information of `elf`, from the cache where possible.

    Raises:
        DebugInfoError: The data is damaged.
    """
    folder = cache_folder()
    try:
        key = cache_key(elf.path, elf.build_id, SYMCACHE_LATEST_VERSION)
        if folder is not None and (entry := find_entry(folder, key)):
            try:
                return DebugInfo(_open(str(entry)), elf.load_address)
            except SymbolicError:
                entry.unlink(missing_ok=True)
        table = _build(str(elf.path))
    except (SymbolicError, OSError, ValueError) as error:
        raise DebugInfoError(str(error)) from None
    if folder is not None:
        add_entry(folder, key, lambda file: _dump(table, file))
    return DebugInfo(table, elf.load_address)


def _lookup(table: SymCache, address: int) -> list[SourceLocation]:
    found = table.lookup(address)  # type: ignore[no-untyped-call]  # not annotated there
    return cast("list[SourceLocation]", found)


def _build(path: str) -> SymCache:
    objects = list(Archive.open(path).iter_objects())
    if not objects:
        raise ValueError("it holds no object")
    return objects[0].make_symcache()


def _open(path: str) -> SymCache:
    table = SymCache.open(path)  # type: ignore[no-untyped-call]  # not annotated there
    return cast("SymCache", table)


def _dump(table: SymCache, file: BinaryIO) -> None:
    table.dump_into(file)  # type: ignore[no-untyped-call]  # not annotated there
