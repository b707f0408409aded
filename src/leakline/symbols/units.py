"""Which sources of a program `leakline cc` did not compile (format/sites.md)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from leakline.symbols.elf import ElfError, open_regular, read_elf

_SECTION = "leakline_units"
_ASSEMBLY = 0x8001


def plain_units(path: str) -> tuple[str, ...]:
    """Sources with debug information that were compiled otherwise, sorted.

    Empty for a module that `leakline cc` compiled nothing of.
    """
    try:
        elf = read_elf(Path(path))
        if _SECTION not in elf.sections:
            return ()
        names = elf.section(_SECTION).decode("utf-8", "replace").split("\0")
        noted = Counter(name for name in names if name)
        return tuple(sorted((Counter(_units(elf.path)) - noted).elements()))
    except (ElfError, ELFError, DWARFError, OSError):
        return ()


def _units(path: Path) -> Iterator[str]:
    with open_regular(path) as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info():
            return
        for unit in elf.get_dwarf_info().iter_CUs():
            top = unit.get_top_DIE()
            attributes = top.attributes
            language = attributes.get("DW_AT_language")
            if top.tag != "DW_TAG_compile_unit" or "DW_AT_name" not in attributes:
                continue
            if language is None or language.value != _ASSEMBLY:
                yield attributes["DW_AT_name"].value.decode("utf-8", "replace")
