"""The functions a file's symbol tables name, for code without debug information."""

import lzma
import os
import struct
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from leakline.symbols.elf import ElfError, ElfFile, read_elf, text_at

SYMBOL_64 = struct.Struct("<IBBHQQ")
TYPE_NONE = 0
FUNCTIONS = frozenset({2, 10})  # ordinary and indirect
BINDING_LOCAL = 0
BINDING_PREFERENCE = {1: 0, 2: 1, BINDING_LOCAL: 2}  # global, weak, local

# Unpacked size of an embedded symbol table; the largest known are a few megabytes.
EMBEDDED_LIMIT_BYTES = 256 << 20


class Named(NamedTuple):
    """A function found for an address; `covers` says that it contains the address."""

    symbol: str
    covers: bool


class _Row(NamedTuple):
    address: int
    size: int
    name_offset: int
    rank: tuple[bool, bool, bool, int]  # smallest first, among names of one address


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """Functions by address, one for each address."""

    addresses: list[int]
    sizes: list[int]
    name_offsets: list[int]
    names: bytes

    def find(self, address: int) -> Named | None:
        """The function that contains `address`, else the nearest one before it."""
        index = bisect_right(self.addresses, address) - 1
        if index < 0:
            return None
        covers = address - self.addresses[index] < self.sizes[index]
        return Named(text_at(self.names, self.name_offsets[index]), covers)

    def __len__(self) -> int:
        return len(self.addresses)


def read_symbol_table(elf: ElfFile) -> SymbolTable:
    """The best table of a file: complete, embedded (minidebuginfo), or exported."""
    if elf.has_contents(".symtab"):
        return _table(elf, ".symtab", ".strtab")
    exported = _table(elf, ".dynsym", ".dynstr")
    if elf.has_contents(".gnu_debugdata"):
        embedded = _embedded(elf)
        return embedded if embedded is not None and len(embedded) else exported
    return exported


def exported_at(elf: ElfFile, wanted: Collection[str]) -> set[int]:
    """The addresses at which a file defines functions of some names for others."""
    names = elf.section(".dynstr")
    if not any(b"\0%s\0" % name.encode() in names for name in wanted):
        return set()
    data = elf.section(".dynsym")
    whole = data[: len(data) // SYMBOL_64.size * SYMBOL_64.size]
    return {
        address
        for name, _, _, section, address, _ in SYMBOL_64.iter_unpack(whole)
        if section != 0 and text_at(names, name) in wanted
    }


def _table(elf: ElfFile, symbols: str, strings: str) -> SymbolTable:
    names = elf.section(strings)
    rows = sorted(_functions(elf.section(symbols), names, elf.code_sections))
    return SymbolTable(
        [row.address for row in rows],
        [row.size for row in rows],
        [row.name_offset for row in rows],
        names,
    )


def _functions(data: bytes, names: bytes, code: frozenset[int]) -> list[_Row]:
    """Defined functions; of several at one address the one that callers know.

    Labels in code, which assembler sources use as functions, count as well.
    """
    best: dict[int, _Row] = {}
    whole = data[: len(data) // SYMBOL_64.size * SYMBOL_64.size]
    for name, info, _, section, address, size in SYMBOL_64.iter_unpack(whole):
        kind = info & 15
        is_function = kind in FUNCTIONS and section != 0
        if not is_function and not (kind == TYPE_NONE and section in code):
            continue
        is_internal = names[name : name + 1] == b"_" and names[name : name + 2] != b"_Z"
        binding = BINDING_PREFERENCE.get(info >> 4, 3)
        rank = (not is_function, info >> 4 == BINDING_LOCAL, is_internal, binding)
        row = _Row(address, size, name, rank)
        known = best.get(address)
        if known is None or row.rank < known.rank:
            best[address] = row
    return list(best.values())


def _embedded(elf: ElfFile) -> SymbolTable | None:
    """The table inside `.gnu_debugdata`, an ELF file packed with xz."""
    unpacker = lzma.LZMADecompressor(memlimit=EMBEDDED_LIMIT_BYTES)
    try:
        data = unpacker.decompress(elf.section(".gnu_debugdata"), EMBEDDED_LIMIT_BYTES)
    except lzma.LZMAError:
        return None
    descriptor = os.memfd_create("embedded-symbols", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(data)
        inner = read_elf(Path(f"/proc/self/fd/{descriptor}"))
        return _table(inner, ".symtab", ".strtab")
    except ElfError:
        return None
    finally:
        os.close(descriptor)
