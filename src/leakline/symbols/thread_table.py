"""Where the code of a shared object asks for its thread-local variables.

It hands the address of two words to `__tls_get_addr`, which the loader fills: the number
of the module, and the offset of a variable among those of the module.
"""

from struct import Struct

from leakline.symbols.elf import ElfFile
from leakline.symbols.machine_code import CodeFile

_RELOCATION = Struct("<QQq")
_SYMBOL = Struct("<IBBHQQ")
_WORD = Struct("<Q")
# Types of relocations: the number of the module, and an offset among its variables.
_MODULE = 16
_OFFSET = 17


def read_thread_table(elf: ElfFile, code: CodeFile) -> dict[int, int]:
    """Offsets of thread-local variables, by the address of their two words."""
    data = elf.section(".rela.dyn")
    whole = data[: len(data) // _RELOCATION.size * _RELOCATION.size]
    modules, offsets = [], {}
    for address, information, addend in _RELOCATION.iter_unpack(whole):
        kind = information & 0xFFFFFFFF
        if kind == _MODULE:
            modules.append(address)
        elif kind == _OFFSET:
            offsets[address] = _value(elf, information >> 32, addend)
    found: dict[int, int] = {}
    for address in modules:
        at = address + _WORD.size
        offset = offsets[at] if at in offsets else _stored(code, at)
        if offset is not None:
            found[address] = offset
    return found


def _value(elf: ElfFile, symbol: int, addend: int) -> int | None:
    """The offset of a symbol; None if another file defines it."""
    symbols = elf.section(".dynsym")
    at = symbol * _SYMBOL.size
    if not symbol or at + _SYMBOL.size > len(symbols):
        return None
    _, _, _, section, value, _ = _SYMBOL.unpack_from(symbols, at)
    return int(value) + addend if section else None


def _stored(code: CodeFile, address: int) -> int | None:
    """The offset of a variable that only its own file knows."""
    word = code.bytes_at(address, _WORD.size)
    return int(_WORD.unpack(word)[0]) if len(word) == _WORD.size else None
