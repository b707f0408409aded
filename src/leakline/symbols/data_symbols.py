"""Names the variables with a fixed address, from the symbol table."""

from bisect import bisect_right
from dataclasses import dataclass
from struct import Struct

from leakline.symbols.elf import SEGMENT_THREAD_LOCAL, ElfFile, text_at

_SYMBOL = Struct("<IBBHQQ")
# The types of symbols that are variables.
_OBJECT = 1
_THREAD_LOCAL = 6


@dataclass(frozen=True, slots=True)
class DataSymbols:
    """The variables of one file, in ascending order of address."""

    addresses: list[int]
    sizes: list[int]
    names: list[str]

    def find(self, address: int) -> tuple[str, int] | None:
        """Return the variable that an address lies in, and how far in."""
        index = bisect_right(self.addresses, address) - 1
        if index < 0:
            return None
        inside = address - self.addresses[index]
        return (self.names[index], inside) if inside < self.sizes[index] else None


def read_data_symbols(elf: ElfFile) -> DataSymbols:
    """Return the variables of a file; none when it is stripped of them."""
    return _read(elf, _OBJECT, 0)


def read_thread_symbols(elf: ElfFile) -> DataSymbols:
    """Return the thread-local variables of a file.

    Those of a program have distances from the thread pointer as addresses, which are
    negative; those of a shared object, offsets among its own.
    """
    blocks = [one for one in elf.segments if one.kind == SEGMENT_THREAD_LOCAL]
    if not blocks:
        return DataSymbols([], [], [])
    if not elf.is_program:
        return _read(elf, _THREAD_LOCAL, 0)
    alignment = max(blocks[0].alignment, 1)
    size = (blocks[0].memory_size + alignment - 1) // alignment * alignment
    return _read(elf, _THREAD_LOCAL, -size)


def _read(elf: ElfFile, kind: int, base: int) -> DataSymbols:
    for symbols, strings in ((".symtab", ".strtab"), (".dynsym", ".dynstr")):
        data, names = elf.section(symbols), elf.section(strings)
        whole = data[: len(data) // _SYMBOL.size * _SYMBOL.size]
        rows = sorted(
            (base + address, size, text_at(names, name))
            for name, info, _, section, address, size in _SYMBOL.iter_unpack(whole)
            if info & 15 == kind and section and size
        )
        if rows:
            addresses, sizes, texts = zip(*rows, strict=True)
            return DataSymbols(list(addresses), list(sizes), list(texts))
    return DataSymbols([], [], [])
